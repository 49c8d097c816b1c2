import { spawnSync } from 'node:child_process';
import { describe, type SuiteAPI, type TestContext } from 'vitest';
import { isMissing } from '../../../../../packages/log/src/testing/is-missing.ts';
import { openTerminal, type TerminalOptions, type TestTerminal } from './test-terminal.ts';
import { openTestWorkspace, type TestWorkspace } from './test-workspace.ts';

interface TerminalHarness {
  readonly workspace: TestWorkspace;
  readonly open: (options?: TerminalOptions) => Promise<TestTerminal>;
}

/** A place to work at, and terminals there; all of it is gone after the test. */
export function terminalHarness(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  files: Readonly<Record<string, string>> = {},
): TerminalHarness {
  const place = openTestWorkspace(files);
  const terminals: TestTerminal[] = [];
  onTestFinished(async () => {
    for (const terminal of terminals) await terminal.close();
    await place.close();
  });
  const open = async (options: TerminalOptions = {}) => {
    const terminal = await openTerminal(place, options);
    terminals.push(terminal);
    return terminal;
  };
  return { workspace: place, open };
}

/** What the prompt shows while nothing is typed. */
export const promptText = 'Say what to do.';

/** While nothing goes on. */
export const idleHint = 'Enter sends';

/** Starts the chat in it, up to the prompt. */
export async function startChat(terminal: TestTerminal, args = ''): Promise<string> {
  await terminal.send(`millrace ${args}`);
  return terminal.waitFor(promptText);
}

/** An ask that takes keys: whoever was typing when it came up is not taken for having answered. */
export async function waitForDialog(terminal: TestTerminal): Promise<string> {
  const first = secondsOf(await terminal.waitFor('waits for your answer'));
  // It is told in tenths at first, and then in whole seconds, both rounded.
  const settled = first < 9 ? first + 0.4 : first + 2;
  return terminal.waitUntil((screen) => secondsOf(screen) >= settled, `an ask until ${settled} s`);
}

function secondsOf(screen: string): number {
  const [, minutes = '0', seconds = '0'] =
    /waits for your answer · (?:(\d+) min )?([\d.]+) s/.exec(screen) ?? [];
  return 60 * Number(minutes) + Number(seconds);
}

/** Without what depends on the width: where lines break, and the margins. */
export function withoutLayout(text: string): string {
  return text.replaceAll(/[\s│]+/g, ' ').trim();
}

export function countOf(text: string, wanted: string): number {
  return text.split(wanted).length - 1;
}

const { status } = spawnSync('tmux', ['-V']);
const missing = 'tmux is not there, and these tests need a real terminal: npm run test:setup';

/** For tests with keys in a real terminal. Where there is no tmux they are skipped, and that is said. */
export function describeInTmux(): Pick<SuiteAPI, 'concurrent'> {
  if (!isMissing(status === 0, missing)) return describe;
  return { concurrent: describe.concurrent.skip as SuiteAPI['concurrent'] };
}
