import { resolveWorkFolder } from '../command/paths.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { loadConfig } from '../config/load-config.ts';
import type { ShareArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { withStore } from '../store/open-store.ts';
import { findWorking } from '../working/working-sessions.ts';
import { daemonFiles } from './daemon-files.ts';
import { SessionProfiles } from './session-profile.ts';
import { shareSession } from './share-session.ts';

/** Runs `millrace share`. */
export async function shareCommand(args: ShareArgs, host: Host): Promise<number> {
  const { env, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  const output = new Output(host.stdout);
  const { id } = await withStore({ config, env }, ({ log }) =>
    findWorking(log, args.session, { cwd, flags: args, isFolderOnly: true }),
  );
  const { canWrite, seconds, url } = args;
  const options = { session: id, canWrite, seconds, url };
  const files = daemonFiles(config, env);
  const profile = canWrite ? await new SessionProfiles(files.profiles).read(id) : undefined;
  const { link, code, more } = await shareSession(files, env, options);
  const rules = canWrite && profile === undefined ? [folderRulesText] : [];
  const { isTTY, columns = 80 } = output.stream;
  // A code that the terminal wraps cannot be scanned.
  const isTooWide = isTTY === true && code.some((line) => line.length > columns);
  const picture = isTooWide || code.length === 0 ? [] : ['', ...code];
  await output.write(`${[link, ...picture, '', ...more, ...rules].join('\n')}\n`);
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

/** A note about a link that can write to a session whose terminal did not hand it over. */
const folderRulesText =
  'The settings of its folder apply to messages of the link, and not the flags of its terminal, such as --read-only and --deny. To keep the flags, use /share write in the chat.';
