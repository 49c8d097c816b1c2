import { resolveWorkFolder } from '../command/paths.ts';
import { runAgent } from '../command/run-agent.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { hasTerminal } from '../command/without-terminal.ts';
import { loadConfig } from '../config/load-config.ts';
import type { AttachArgs, ChatArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { withStore } from '../store/open-store.ts';
import { findWorking } from '../working/working-sessions.ts';
import { askDaemon } from './control-socket.ts';
import { daemonFiles } from './daemon-files.ts';
import { SessionProfiles } from './session-profile.ts';

/**
 * Runs `millrace attach`. It opens a session in the chat, in the folder of the session and with the flags of
 * the terminal that handed it over. If the daemon drives the session, it hands the run over to this terminal.
 */
export async function attachCommand(args: AttachArgs, host: Host): Promise<number> {
  const { env, signal } = host;
  if (!hasTerminal(host)) throw new UsageError('millrace attach needs a terminal');
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  const files = daemonFiles(config, env);
  const { found, profile } = await withStore({ config, env }, async ({ log }) => {
    const place = { cwd, flags: args, isFolderOnly: true };
    const found = await findWorking(log, args.session, place);
    return { found, profile: await new SessionProfiles(files.profiles).readFor(log, found.id) };
  });
  const chat: ChatArgs = {
    ...{ ...profile?.args, rules: profile?.args.rules ?? [] },
    ...{ command: 'chat', session: { id: found.id }, trust: false },
    ...{ color: args.color, store: args.store, config: args.config ?? profile?.args.config },
    plain: args.plain,
    cwd: profile?.cwd ?? found.cwd ?? cwd,
    takesOver: true,
  };
  // If a daemon runs, it must release the session. If no daemon runs, this request has no effect.
  await askDaemon(files.socket, { type: 'release', session: found.id });
  return runAgent(chat, host);
}
