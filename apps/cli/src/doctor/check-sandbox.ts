import { findSandbox, type SandboxOptions } from '@millrace/tools';
import { openSandbox } from '../agent/command-sandbox.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Check } from './check.ts';

const about = 'sandbox';

const limits =
  'It does not protect the files of this folder, other files that you can read (except keys) from being read, MCP servers, and commands that you let run outside of it.';

/** Reports how the user is protected from commands of the model. */
export const checkSandbox: Check = async ({ config, cwd }) => {
  if (config === undefined) return [];
  try {
    const { sandbox, summary, advice } = await openSandbox(config.sandbox, findAgain, [], cwd);
    sandbox?.close();
    if (sandbox !== undefined)
      return [
        { about, state: 'ok', text: `${summary} It is made with ${sandbox.name}. ${limits}` },
      ];
    const way = advice ?? 'Remove --sandbox off and "sandbox" of your config.json';
    return [{ about, state: 'warn', text: summary, advice: way }];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ about, state: 'fail', text: error.message }];
  }
};

/** Tests the sandbox also if it worked at an earlier start, because the settings of the system can have changed. */
function findAgain({ tested, ...options }: SandboxOptions = {}) {
  return findSandbox({ ...options, tested: tested && { ...tested, read: () => undefined } });
}
