// Shows a recorded exchange read by read, or checks that a recording is whole and has no secrets:
// npm run cassette -- show <file>, npm run cassette -- check <file>.
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

  show <file>    each exchange of a cassette, read by read
  check <file>   is it a cassette, does each body end, is anything in it that looks like a secret?
                 Exit code 1 if it should not be kept as it is: a body that broke or was clipped,
                 a secret. That a reader left a body before its end is a warning.`;

interface Report {
  readonly lines: readonly string[];
  readonly exitCode: number;
}

const previewLength = 60;
const columnsWidth = [12, 10, 10] as const;

/** A text for a terminal: quoted, short, and without characters that steer one. */
function preview(text: string, length: number = previewLength): string {
  const short = [...text.slice(0, length * 2)].slice(0, length).join('');
  const quoted = JSON.stringify(short).replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return short.length < text.length ? `${quoted}…` : quoted;
}

/** How much of what is the same is shown in front of what differs. */
const leadLength = 12;

/** What is new in a chunk: events begin alike, and what they say stands at their end. */
function previewAfter(before: string, text: string): string {
  let same = 0;
  while (same < text.length && text[same] === before[same]) same++;
  const start = Math.min(same - leadLength, text.length - previewLength);
  return start <= 0 ? preview(text) : `…${preview(text.slice(start))}`;
}

/** As `preview`, without the quotes. */
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
    row(0, 'request', size, isBodyClipped ? 'the body was too large to be kept' : sent),
    ...showHeaders(headers),
    ...(response === undefined ? [] : showResponse(response)),
    row(end.atMs, end.how, '', [sizeOf(response), ...endingOf(end)].join('; ')),
    ...(end.error === undefined ? [] : causesOf(end.error).map(noted)),
  ];
}

/** The error, and under it what caused it. */
function causesOf({ name, message, code, cause }: RecordedError): readonly string[] {
  const told = `${name}: ${message}${code === undefined ? '' : ` (${code})`}`;
  if (cause === undefined) return [told];
  const [first, ...deeper] = causesOf(cause);
  return [told, `because of ${first}`, ...deeper];
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

/** Under the last column. */
const noted = (text: string): string => `${' '.repeat(37)}${plain(text)}`;

function showHeaders(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => noted(`${name}: ${value}`));
}

function sizeOf(response: RecordedResponse | undefined): string {
  if (response === undefined) return 'no response';
  const { chunks, headers } = response;
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
  const size = `${counted(chunks.length, 'chunk')}, ${counted(bytes, 'byte')}`;
  if (!headers['content-type']?.startsWith('text/event-stream')) return size;
  const { events, isOpen } = countEvents(Buffer.concat(chunks.map((chunk) => chunk.bytes)));
  return `${size}, ${counted(events, 'SSE event')}${isOpen ? ' and the beginning of one' : ''}`;
}

/** Events are what has data and a blank line after it. */
function countEvents(body: Uint8Array): { readonly events: number; readonly isOpen: boolean } {
  let events = 0;
  let hasData = false;
  for (const line of decoder.decode(body).split(/\r\n|\r|\n/)) {
    if (line === '' && hasData) events += 1;
    hasData = line !== '' && (hasData || line.startsWith('data:'));
  }
  return { events, isOpen: hasData };
}

/** How it ended, where that needs words: not those of the error, in which a secret may be. */
function endingOf({ how, clipped }: BodyEnd): readonly string[] {
  return [
    ...(how === 'cancelled' ? ['its reader left before its end'] : []),
    ...(how === 'error' ? ['it broke'] : []),
    ...(clipped === undefined
      ? []
      : [`${counted(clipped.bytes, 'byte')} more were over the limits`]),
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

/** Why a replay would not be what happened, or would be a failure. */
function lackOf({ request, end }: RecordedExchange): readonly string[] {
  const isClipped = end.clipped !== undefined || request.isBodyClipped !== undefined;
  return [
    ...(isClipped ? ['it is not whole; record it again with larger limits'] : []),
    ...(end.how === 'error'
      ? ['it broke before its end; record it again unless that is what it is for']
      : []),
  ];
}

function check(cassette: Cassette): Report {
  const { exchanges, unrecorded = 0 } = cassette;
  const bodies = exchanges.map(({ response, end }, index) => {
    const words = end.how === 'end' ? ['it ends'] : [];
    return `exchange ${index}: ${[sizeOf(response), ...words, ...endingOf(end)].join('; ')}`;
  });
  const problems = [
    ...findSecrets(cassette).map(
      ({ exchange, place }) =>
        `exchange ${exchange}, ${plain(place)}: it looks like a secret, which a recorder would not have kept; revoke it if it is one, and record it again`,
    ),
    ...exchanges.flatMap((exchange, index) =>
      lackOf(exchange).map((lack) => `exchange ${index}: ${lack}`),
    ),
    ...(unrecorded > 0
      ? [
          `${counted(unrecorded, 'request')} more were made and not recorded; record again with a larger limit`,
        ]
      : []),
  ];
  const warnings = exchanges.flatMap(({ end }, index) =>
    end.how === 'cancelled'
      ? `warning: exchange ${index}: its reader left before its end, and no replay can go on from there`
      : [],
  );
  const verdict = problems.length === 0 ? ['ok'] : problems.map((text) => `problem: ${text}`);
  return { lines: [...bodies, ...warnings, ...verdict], exitCode: problems.length === 0 ? 0 : 1 };
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
    const why = error instanceof Error ? error.message : String(error);
    return { lines: [`problem: ${plain(path)}: ${why}`], exitCode: 1 };
  }
}

const { lines, exitCode } = main(process.argv.slice(2));
process.exitCode = exitCode;
// Whoever reads only the first lines, as `head` does, closes the pipe.
process.stdout.on('error', () => {});
const out = exitCode === 2 ? process.stderr : process.stdout;
out.write(`${lines.join('\n')}\n`);
