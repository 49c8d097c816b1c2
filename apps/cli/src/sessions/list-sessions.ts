import { oneLine } from '../print/printable.ts';
import { textTable } from '../print/text-table.ts';
import { shortIdLength } from '../store/find-session.ts';
import type { SessionSummary } from '../store/session-summary.ts';
import { sessionsOf } from '../store/sessions-of.ts';
import type { SessionsContext } from './sessions-context.ts';

/** The newest first; with `--all` those of this folder before the others. */
export async function listSessions(context: SessionsContext): Promise<void> {
  const { args, log, output, notes, cwd } = context;
  const all = await sessionsOf(log);
  const [here, elsewhere] = [
    all.filter((session) => session.cwd === cwd),
    all.filter((session) => session.cwd !== cwd),
  ];
  const shown = args.all ? [...here, ...elsewhere] : here;
  if (args.json) return output.write(`${JSON.stringify(shown, undefined, 2)}\n`);
  const columns = output.stream.isTTY ? output.stream.columns : undefined;
  const rows = shown.map((session) => rowOf(session, args.all));
  for (const line of textTable(rows, { columns })) await output.write(`${line}\n`);
  const left = all.length - shown.length;
  if (shown.length === 0) await notes.write(`${nothing(cwd, left)}\n`);
  else if (left > 0) await notes.write(`${left} more of other folders: millrace sessions --all\n`);
}

function rowOf(session: SessionSummary, isWithFolder: boolean): readonly string[] {
  const { id, title, cwd, changedAt } = session;
  const words = oneLine(title, 200) || '(nothing was said)';
  const folder = isWithFolder ? [oneLine(cwd ?? '–', 200)] : [];
  return [id.slice(0, shortIdLength), dateTime(changedAt), stateOf(session), ...folder, words];
}

function stateOf({ holder, hasWork }: SessionSummary): string {
  if (holder !== undefined) return `driven by ${oneLine(holder, 20)}`;
  return hasWork ? 'not finished' : '';
}

/** In the time of this machine, to the minute. */
export function dateTime(ms: number): string {
  return new Date(ms).toLocaleString('sv-SE').slice(0, 16);
}

function nothing(cwd: string, elsewhere: number): string {
  const others =
    elsewhere === 0 ? 'Begin one with millrace' : `There are ${elsewhere} of other folders: --all`;
  return `There is no session of ${cwd} yet. ${others}`;
}
