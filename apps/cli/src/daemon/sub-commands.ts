import { resolveWorkFolder } from '../command/paths.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { loadConfig } from '../config/load-config.ts';
import type { PsArgs, ShareArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { textTable } from '../print/text-table.ts';
import { withStore } from '../store/open-store.ts';
import { shortIdLength } from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';
import { daemonFiles } from './daemon-files.ts';
import { SessionProfiles } from './session-profile.ts';
import { shareSession } from './share-session.ts';
import { findWorking, type WorkingSession, workingSessions } from './working-sessions.ts';

/** Runs `millrace ps` and `millrace share`. */
export async function daemonSubCommand(args: PsArgs | ShareArgs, host: Host): Promise<number> {
  const { env, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  const output = new Output(host.stdout);
  const notes = new Output(host.stderr, { name: 'standard error' });
  if (args.command === 'ps') {
    const sessions = await withStore({ config, env }, ({ log }) => workingSessions(log));
    if (args.json) await output.writeData(`${JSON.stringify(sessions, undefined, 2)}\n`);
    else await printSessions(sessions, output, notes);
  } else {
    const { id } = await withStore({ config, env }, ({ log }) =>
      findWorking(log, args.session, cwd),
    );
    const { canWrite, seconds, url } = args;
    const options = { session: id, canWrite, seconds, url };
    const files = daemonFiles(config, env);
    const profile = canWrite ? await new SessionProfiles(files.profiles).read(id) : undefined;
    const { lines } = await shareSession(files, env, options);
    const rules = canWrite && profile === undefined ? [folderRulesText] : [];
    await output.write(`${[...lines, ...rules].join('\n')}\n`);
  }
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return exitCodes.done;
}

/** A note about a link that can write to a session whose terminal did not hand it over. */
const folderRulesText =
  'The settings of its folder apply to messages of the link, and not the flags of its terminal, such as --read-only and --deny. To keep the flags, use /share write in the chat.';

const headings = ['SESSION', 'STATE', 'DRIVEN BY', 'SINCE', 'FOLDER', 'TITLE'];

async function printSessions(
  sessions: readonly WorkingSession[],
  output: Output,
  notes: Output,
): Promise<void> {
  if (sessions.length === 0) return notes.write('No session has work.\n');
  const rows = sessions.map(({ id, state, driver, since, cwd, title }) => [
    ...[id.slice(0, shortIdLength), state, oneLine(driver ?? '–', 40)],
    new Date(since).toLocaleString('sv-SE').slice(0, 16),
    ...[oneLine(cwd ?? '–', 60), oneLine(title, 200)],
  ]);
  const columns = output.stream.isTTY ? output.stream.columns : undefined;
  for (const line of textTable([headings, ...rows], { columns })) await output.write(`${line}\n`);
  if (sessions.some(({ state }) => state !== 'running'))
    await notes.write('Open one with millrace attach <session>\n');
}
