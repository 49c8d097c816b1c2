import { resolveWorkFolder } from '../command/paths.ts';
import { untilStopped } from '../command/stop-signals.ts';
import type { LoginArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { deleteLoginKey } from '../models/key-store.ts';
import { vendors } from '../models/vendors.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { type LogInOptions, logInToOpenRouter, openRouterKey } from './log-in.ts';

/** Runs `millrace login` and `millrace logout`. */
export async function loginCommand(
  args: LoginArgs,
  host: Host,
  options: Pick<LogInOptions, 'fetch' | 'openRouterUrl' | 'timeoutMs'> = {},
): Promise<number> {
  const { env, stdout, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  if (args.command === 'logout') return logOut(host);
  const done = await untilStopped(signal, logInToOpenRouter({ ...options, env, cwd }, host));
  if (done === 'cancelled' || done === 'back') {
    writeText(stdout, 'Not logged in. Nothing was stored.\n');
    return exitCodes.aborted;
  }
  writeText(stdout, `Start the chat with: millrace --model ${done.model}\n`);
  return exitCodes.done;
}

async function logOut({ env, stdout }: Host): Promise<number> {
  const path = await deleteLoginKey(env, openRouterKey);
  const page = vendors.find(({ name }) => name === 'openrouter')?.keyPage;
  writeText(
    stdout,
    path === undefined
      ? 'There is no key of a login with OpenRouter on this machine.\n'
      : `Deleted the key from ${path}. OpenRouter keeps it until you delete it at ${page}\n`,
  );
  return exitCodes.done;
}
