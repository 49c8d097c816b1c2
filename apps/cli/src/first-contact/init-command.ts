import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { initPrompt } from '../chat/commands/work-commands.ts';
import { resolveWorkFolder } from '../command/paths.ts';
import { runAgent } from '../command/run-agent.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { hasTerminal } from '../command/without-terminal.ts';
import { loadConfig } from '../config/load-config.ts';
import { ruleFromText } from '../config/rule-text.ts';
import type { InitArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { findOffers } from './first-contact.ts';

const fileName = 'AGENTS.md';

/**
 * Runs `millrace init`: the agent writes AGENTS.md. In a terminal it opens the chat, and the user approves the
 * file. Without a terminal it may write only this file. An existing file is never overwritten.
 */
export async function initCommand(args: InitArgs, host: Host): Promise<number> {
  const { env, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const path = join(cwd, fileName);
  if ((await lstat(path).catch(() => undefined)) !== undefined)
    throw new UsageError(
      `${path} exists already, and millrace init does not overwrite it. To improve it, open the chat and type /init`,
      { path },
    );
  const run = { ...args, session: 'new', prompt: initPrompt } as const;
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  const isInTerminal = hasTerminal(host);
  // In a terminal, a missing model is not an error, because the chat asks for one. The demo model is refused,
  // because it cannot write the file.
  const hasNoModel = !isInTerminal && (await findOffers({ config, env })) !== undefined;
  if (config.model === 'demo' || hasNoModel)
    throw new UsageError(
      'millrace init needs a model. Set an API key, start a local model server, or run millrace in a terminal to enter a key',
    );
  if (isInTerminal) return runAgent({ ...run, command: 'chat' }, host);
  const rules = [...args.rules, ruleFromText(`write=${fileName}`, 'allow')];
  const exitCode = await runAgent({ ...run, rules, command: 'print', json: false }, host);
  if (exitCode !== 0 || (await lstat(path).catch(() => undefined)) !== undefined) return exitCode;
  writeText(host.stderr, `The model did not write ${path}\n`);
  return 1;
}
