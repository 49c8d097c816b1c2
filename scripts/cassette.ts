// Shows a recorded HTTP exchange chunk by chunk, or checks that a recording is complete and has no
// secrets:
//   npm run cassette -- show <file>
//   npm run cassette -- check <file>
import { readFileSync } from 'node:fs';
import {
  type BodyEnd,
  type Cassette,
  decodeCassette,
  findSecrets,
  type RecordedError,
  type RecordedExchange,
  type RecordedResponse,
} from '@millrace/providers/cassette';

const usage = `Usage: npm run cassette -- <command> <file>

  show <file>    show each exchange of a cassette, chunk by chunk
  check <file>   check that the file is a cassette, that each body is complete, and that nothing in it
                 looks like a secret. Exit code 1 if there is a problem. A body that the reader
                 cancelled before its end is a warning.`;

interface Report {
  readonly lines: readonly string[];
  readonly exitCode: number;
}

const previewLength = 60;
const columnsWidth = [12, 10, 10] as const;

/**
 * Shortens and quotes a text. Control characters are escaped, because they could change the
 * terminal.
 */
function preview(text: string, length: number = previewLength): string {
  const short = [...text.slice(0, length * 2)].slice(0, length).join('');
  const quoted = JSON.stringify(short).replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return short.length < text.length ? `${quoted}…` : quoted;
}

/** The number of equal characters that are shown before the first difference. */
const leadLength = 12;

/**
 * Returns the part of a chunk that differs from the previous chunk. Events often start with the
 * same text.
 */
function previewAfter(before: string, text: string): string {
  let same = 0;
  while (same < text.length && text[same] === before[same]) same++;
  const start = Math.min(same - leadLength, text.length - previewLength);
  return start <= 0 ? preview(text) : `…${preview(text.slice(start))}`;
}

/** Shortens a text like `preview`, but without the quotes. */
const plain = (text: string): string => preview(text, 200).replace(/^"|"(?=…?$)/g, '');

const counted = (count: number, thing: string): string =>
  `${count} ${thing}${count === 1 ? '' : 's'}`;

function row(atMs: number, ...columns: readonly string[]): string {
  const cells = [`+${atMs} ms`, ...columns];
  return `  ${cells.map((cell, index) => cell.padEnd(columnsWidth[index] ?? 0)).join(' ')}`.trimEnd();
}

const decoder = new TextDecoder();

function showExchange({ request, response, end, startMs }: RecordedExchange, index: number) {
  const { method, url, headers, body, isBodyClipped } = request;
  const sent = body === undefined ? 'no body' : preview(decoder.decode(body));
  const size = `${body?.length ?? 0} B`;
  return [
    '',
    `exchange ${index}: ${plain(method)} ${plain(url)} (${startMs} ms after the first)`,
    row(0, 'request', size, isBodyClipped ? 'the body was too large to be recorded' : sent),
    ...showHeaders(headers),
    ...(response === undefined ? [] : showResponse(response)),
    row(end.atMs, end.how, '', [sizeOf(response), ...endingOf(end)].join('; ')),
    ...(end.error === undefined ? [] : causesOf(end.error).map(noteLine)),
  ];
}

/** Returns the messages of an error and of its causes. */
function causesOf({ name, message, code, cause }: RecordedError): readonly string[] {
  const text = `${name}: ${message}${code === undefined ? '' : ` (${code})`}`;
  if (cause === undefined) return [text];
  const [first, ...deeper] = causesOf(cause);
  return [text, `caused by ${first}`, ...deeper];
}

function showResponse({ atMs, status, statusText = '', headers, chunks }: RecordedResponse) {
  const texts = chunks.map(({ bytes }) => decoder.decode(bytes));
  return [
    row(atMs, 'response', String(status), plain(statusText)),
    ...showHeaders(headers),
    ...chunks.map(({ atMs, bytes }, index) => {
      const shown = previewAfter(texts[index - 1] ?? '', texts[index] ?? '');
      return row(atMs, `chunk ${index}`, `${bytes.length} B`, shown);
    }),
  ];
}

/** Indents a line, so that it starts in the last column. */
const noteLine = (text: string): string => `${' '.repeat(37)}${plain(text)}`;

function showHeaders(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => noteLine(`${name}: ${value}`));
}

function sizeOf(response: RecordedResponse | undefined): string {
  if (response === undefined) return 'no response';
  const { chunks, headers } = response;
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
  const size = `${counted(chunks.length, 'chunk')}, ${counted(bytes, 'byte')}`;
  if (!headers['content-type']?.startsWith('text/event-stream')) return size;
  const { events, isOpen } = countEvents(Buffer.concat(chunks.map((chunk) => chunk.bytes)));
  return `${size}, ${counted(events, 'SSE event')}${isOpen ? ' and an incomplete one' : ''}`;
}

/** Counts the SSE events. An event is one or more data lines and an empty line. */
function countEvents(body: Uint8Array): { readonly events: number; readonly isOpen: boolean } {
  let events = 0;
  let hasData = false;
  for (const line of decoder.decode(body).split(/\r\n|\r|\n/)) {
    if (line === '' && hasData) events += 1;
    hasData = line !== '' && (hasData || line.startsWith('data:'));
  }
  return { events, isOpen: hasData };
}

/**
 * Describes an abnormal end. The text does not contain the error message, which may contain a
 * secret.
 */
function endingOf({ how, clipped }: BodyEnd): readonly string[] {
  return [
    ...(how === 'cancelled' ? ['the reader cancelled it'] : []),
    ...(how === 'error' ? ['it failed'] : []),
    ...(clipped === undefined
      ? []
      : [`${counted(clipped.bytes, 'byte')} beyond the limits were not recorded`]),
  ];
}

function show({ exchanges, unrecorded = 0 }: Cassette): Report {
  const more = unrecorded > 0 ? ` (and ${unrecorded} more, not recorded)` : '';
  const lines = [
    `${counted(exchanges.length, 'exchange')}${more}`,
    ...exchanges.flatMap(showExchange),
  ];
  return { lines, exitCode: 0 };
}

/** Returns the reasons why a replay would differ from the original, or would fail. */
function defectsOf({ request, end }: RecordedExchange): readonly string[] {
  const isClipped = end.clipped !== undefined || request.isBodyClipped !== undefined;
  return [
    ...(isClipped ? ['it is incomplete; record it again with larger limits'] : []),
    ...(end.how === 'error'
      ? ['it failed before its end; record it again unless the failure is intended']
      : []),
  ];
}

function check(cassette: Cassette): Report {
  const { exchanges, unrecorded = 0 } = cassette;
  const bodies = exchanges.map(({ response, end }, index) => {
    const ending = end.how === 'end' ? ['complete'] : [];
    return `exchange ${index}: ${[sizeOf(response), ...ending, ...endingOf(end)].join('; ')}`;
  });
  const problems = [
    ...findSecrets(cassette).map(
      ({ exchange, location: place }) =>
        `exchange ${exchange}, ${plain(place)}: it looks like a secret, which the recorder should have removed; revoke it and record again`,
    ),
    ...exchanges.flatMap((exchange, index) =>
      defectsOf(exchange).map((defect) => `exchange ${index}: ${defect}`),
    ),
    ...(unrecorded > 0
      ? [`${counted(unrecorded, 'request')} not recorded; record again with a larger limit`]
      : []),
  ];
  const warnings = exchanges.flatMap(({ end }, index) =>
    end.how === 'cancelled'
      ? `warning: exchange ${index}: the reader cancelled it, and a replay cannot continue after that point`
      : [],
  );
  const result = problems.length === 0 ? ['ok'] : problems.map((text) => `problem: ${text}`);
  return { lines: [...bodies, ...warnings, ...result], exitCode: problems.length === 0 ? 0 : 1 };
}

const commands: ReadonlyMap<string | undefined, (cassette: Cassette) => Report> = new Map([
  ['show', show],
  ['check', check],
]);

function main([command, path, ...rest]: readonly string[]): Report {
  const run = commands.get(command);
  if (run === undefined || path === undefined || rest.length > 0) {
    return { lines: [usage], exitCode: 2 };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
    return run(decodeCassette(text));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { lines: [`problem: ${plain(path)}: ${reason}`], exitCode: 1 };
  }
}

const { lines, exitCode } = main(process.argv.slice(2));
process.exitCode = exitCode;
// A reader that needs only the first lines, such as `head`, closes the pipe early. This is not an
// error.
process.stdout.on('error', () => {});
const out = exitCode === 2 ? process.stderr : process.stdout;
out.write(`${lines.join('\n')}\n`);
