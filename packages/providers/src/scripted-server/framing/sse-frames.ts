import { parseJson } from '@millrace/core';
import { ScriptError } from '../script.ts';

/** The data alone, or with the name that goes into its `event:` line. */
export type SseEvent = string | { readonly event?: string; readonly data: string };

/** `mixed`: each event has its own, in turn. */
export type LineEnding = '\n' | '\r\n' | '\r' | 'mixed';

export interface SseOptions {
  /** `\n` unless told. */
  readonly lineEnding?: LineEnding;
  /** U+FEFF before everything. */
  readonly byteOrderMark?: boolean;
  /** `false`: `data:{…}`, as some gateways send it. */
  readonly spaceAfterColon?: boolean;
  /** A comment before each event, for instance `OPENROUTER PROCESSING`. */
  readonly comment?: string;
  /** `data: [DONE]` after the last event. */
  readonly done?: boolean;
  /** How the stream ends: with its blank line, without it, or without even the last line's end. */
  readonly ending?: 'blank-line' | 'line-end' | 'nothing';
  /** Write `event:` lines where an event has a name, also after the `type` in the data, or never. */
  readonly eventNames?: 'given' | 'type' | 'none';
}

/** Server-sent events as bytes, one frame an event: comment, event, blank line. */
export function sseFrames(
  events: readonly SseEvent[],
  options: SseOptions = {},
): readonly Uint8Array[] {
  const all = options.done ? [...events, '[DONE]'] : events;
  const texts = all.map((event, index) => frameText(event, index, options));
  if (options.byteOrderMark) texts[0] = `\uFEFF${texts[0] ?? ''}`;
  const last = texts.length - 1;
  if (all.length > 0) texts[last] = withEnding(texts[last] ?? '', lineEnd(last, options), options);
  const encoder = new TextEncoder();
  return texts.map((text) => encoder.encode(text));
}

/** The same in one piece, to be split anywhere. */
export function frameSse(events: readonly SseEvent[], options: SseOptions = {}): Uint8Array {
  return joinBytes(sseFrames(events, options));
}

function frameText(event: SseEvent, index: number, options: SseOptions): string {
  const { event: given, data } = typeof event === 'string' ? { data: event } : event;
  const end = lineEnd(index, options);
  const space = options.spaceAfterColon === false ? '' : ' ';
  const field = (name: string, value: string) => `${name}:${space}${value}${end}`;

  const comment = options.comment === undefined ? '' : field('', options.comment) + end;
  const name = eventName(given, data, options);
  const named = name === undefined ? '' : field('event', name);
  const lines = data.split(/\r\n|\r|\n/).map((line) => field('data', line));
  return comment + named + lines.join('') + end;
}

function eventName(given: string | undefined, data: string, options: SseOptions) {
  const { eventNames = 'given' } = options;
  if (eventNames === 'none') return undefined;
  return given ?? (eventNames === 'type' ? eventType(data) : undefined);
}

const endings = ['\n', '\r\n', '\r'] as const;

/** One ending for a whole event: a line ended by CR before one ended by LF would read as one line end. */
function lineEnd(index: number, { lineEnding = '\n' }: SseOptions): string {
  return lineEnding === 'mixed' ? (endings[index % endings.length] ?? '\n') : lineEnding;
}

function withEnding(text: string, end: string, { ending = 'blank-line' }: SseOptions): string {
  switch (ending) {
    case 'blank-line':
      return text;
    case 'line-end':
      return text.slice(0, -end.length);
    case 'nothing':
      return text.slice(0, -2 * end.length);
  }
}

/** The bytes, cut at these offsets. No piece is empty: offsets at the ends, or given twice, cut nothing. */
export function splitAt(bytes: Uint8Array, offsets: Iterable<number>): readonly Uint8Array[] {
  const cuts = [...new Set([0, ...offsets, bytes.length])].sort((a, b) => a - b);
  for (const cut of cuts) assertOffset(cut, bytes.length);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

/** The bytes in pieces of this length; the last one may be shorter. */
export function splitEvery(bytes: Uint8Array, length: number): readonly Uint8Array[] {
  if (!(Number.isInteger(length) && length > 0)) {
    throw new ScriptError(
      'bad_script',
      `Cannot split every ${length} bytes: use a whole number from 1`,
    );
  }
  const count = Math.ceil(bytes.length / length);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  );
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

function assertOffset(offset: number, length: number): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= length) return;
  const range = `use whole numbers from 0 to ${length}`;
  throw new ScriptError('bad_script', `Cannot split at ${offset}: ${range}`);
}

/** The `type` that an event's data names, where it is a JSON object that names one. */
export function eventType(data: string): string | undefined {
  const parsed = parseJson(data);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const type = 'type' in parsed.value ? parsed.value['type'] : undefined;
  return typeof type === 'string' ? type : undefined;
}
