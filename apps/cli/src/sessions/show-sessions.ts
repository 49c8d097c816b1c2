import { encodeTranscript, type Item, liveTranscript, type Part } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { commandHint } from '../args/command-hint.ts';
import { countOf, textTable } from '../print/text-table.ts';
import {
  findSession,
  forkText,
  listSummaries,
  type SessionSummary,
  type ShortId,
  shortIds,
} from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';
import type { SessionsContext } from './sessions-context.ts';

/**
 * Lists the sessions, newest first. With `--all`, the sessions of this folder come first. A session that the user named
 * with `/name` is listed with its name.
 */
export async function listSessions(context: SessionsContext): Promise<void> {
  const { args, log, output, notes, cwd } = context;
  const names = await context.names.read();
  const all = (await listSummaries(log)).map((one) => ({ ...one, name: names.get(one.id) }));
  const [here, elsewhere] = [
    all.filter((session) => session.cwd === cwd),
    all.filter((session) => session.cwd !== cwd),
  ];
  const shown = args.all ? [...here, ...elsewhere] : here;
  if (args.json) return output.writeData(`${JSON.stringify(shown, undefined, 2)}\n`);
  const columns = output.stream.isTTY ? output.stream.columns : undefined;
  const short = shortIds(all.map(({ id }) => id));
  const rows = shown.map((session) => rowOf(session, { isWithFolder: args.all, short }));
  for (const line of textTable(rows, { columns })) await output.write(`${line}\n`);
  const left = all.length - shown.length;
  const way = commandHint(args, 'sessions --all');
  if (shown.length === 0) await notes.write(`${emptyMessage(cwd, left, way)}\n`);
  else if (left > 0) await notes.write(`${left} more in other folders: ${way}\n`);
}

/** A session with the name that the user gave to it, if there is one. */
type NamedSession = SessionSummary & { readonly name: string | undefined };

interface RowOptions {
  readonly isWithFolder: boolean;
  readonly short: ShortId;
}

function rowOf(session: NamedSession, { isWithFolder, short }: RowOptions): readonly string[] {
  const { id, name, title, cwd, changedAt } = session;
  const words = oneLine(name ?? title, 200) || '(no message)';
  const folder = isWithFolder ? [oneLine(cwd ?? '–', 200)] : [];
  return [short(id), formatDateTime(changedAt), stateText(session, short), ...folder, words];
}

function stateText(summary: SessionSummary, short: RowOptions['short']): string {
  const { holder, hasWork } = summary;
  const work = hasWork ? 'not finished' : undefined;
  const state = holder === undefined ? work : `run by ${oneLine(holder, 20)}`;
  return [state, forkText(summary, short)].filter((text) => text !== undefined).join(', ');
}

/** Formats a time as a local date and time, without seconds. */
function formatDateTime(ms: number): string {
  return new Date(ms).toLocaleString('sv-SE').slice(0, 16);
}

function emptyMessage(cwd: string, elsewhere: number, way: string): string {
  const others =
    elsewhere === 0
      ? 'Start one with millrace'
      : `The store has ${countOf(elsewhere, 'other session')}, of other folders or of programs: ${way}`;
  return `There are no sessions of ${cwd} yet. ${others}`;
}

/** Prints a transcript as Markdown. With `--json`, prints it as JSON. */
export async function showSession({ args, log, output, cwd }: SessionsContext): Promise<void> {
  const [which = 'last'] = args.operands;
  const session = await findSession(log, which, { cwd, flags: args });
  if (args.json) {
    const items = liveTranscript(await snapshot(log, session.id));
    return output.writeData(`${encodeTranscript(items)}\n`);
  }
  // The transcript is for readers. Programs such as `less -R` would pass control characters to the terminal.
  await output.write(await sessionDocument(log, session));
}

/** Returns the transcript of a session as Markdown, with its id, its folder and its time at the start. */
export async function sessionDocument(log: Log, session: SessionSummary): Promise<string> {
  const items = liveTranscript(await snapshot(log, session.id));
  const about = [session.cwd ?? 'no folder', formatDateTime(session.changedAt)].join(', ');
  return `# Session ${session.id}\n\n${about}\n\n${transcriptMarkdown(items)}`;
}

const headingByKind: { readonly [Kind in Item['kind']]: string } = {
  system: 'Instructions',
  developer: 'Instructions',
  user: 'You',
  assistant: 'Assistant',
  tool: 'Tools',
  context: 'Summary',
  notification: 'Notice',
};

/** Formats a transcript as Markdown, with a heading for each speaker. */
export function transcriptMarkdown(items: readonly Item[]): string {
  return items.map(itemMarkdown).filter(Boolean).join('\n\n').concat('\n');
}

function itemMarkdown({ kind, author, parts, stop, redacted }: Item): string {
  const said = redacted ? ['*(redacted)*'] : parts.map(partMarkdown).filter(Boolean);
  const end = stop === undefined ? undefined : stopNotes[stop.reason];
  const whole = [...said, ...(end === undefined ? [] : [`*(${end})*`])];
  if (whole.length === 0) return '';
  return [`## ${author?.name ?? headingByKind[kind]}`, ...whole].join('\n\n');
}

/** Notes about unusual stop reasons. A normal stop has no note. */
const stopNotes: Readonly<Partial<Record<string, string>>> = {
  length: 'cut off at the maximum length',
  aborted: 'stopped',
  error: 'ended by an error',
  content_filter: 'cut off by the content filter',
  refusal: 'refused',
};

function partMarkdown(part: Part): string {
  switch (part.kind) {
    case 'text':
      return part.text.trimEnd();
    case 'reasoning':
      return part.text === '' ? '' : quoted(part.text.trimEnd());
    case 'tool_call':
      return `**${part.name}**\n\n${fenced(part.arguments || '{}', 'json')}`;
    case 'tool_result': {
      const what = `${part.name}${part.isError ? ' failed' : ''}`;
      const attached = (part.attachments ?? []).map(partMarkdown);
      const text = part.text === '' ? [] : [fenced(part.text.trimEnd())];
      return [`*${what}:*`, ...text, ...attached].join('\n\n');
    }
    case 'structured':
    case 'custom':
      return fenced(JSON.stringify(part.value, undefined, 2), 'json');
    case 'media':
      return `*(${part.mimeType})*`;
    case 'file':
      return `*(file ${part.name}, ${part.mimeType})*`;
  }
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ');
}

/** Returns the text as a code block. The fence is longer than all fences in the text. */
function fenced(text: string, language = ''): string {
  const longest = [...text.matchAll(/`{3,}/g)].reduce(
    (most, [run]) => Math.max(most, run.length),
    2,
  );
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
