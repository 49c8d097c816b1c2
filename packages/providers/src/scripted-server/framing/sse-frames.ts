import { parseJson } from '@millrace/core';
import { ScriptedServerError } from '../script.ts';

/** The data of an event. An event can also have a name for its `event:` line. */
export type SseEvent = string | { readonly event?: string; readonly data: string };

/** The line end. `mixed` uses a different line end for each event. */
export type LineEnding = '\n' | '\r\n' | '\r' | 'mixed';

/** The format of server-sent events. */
export interface SseOptions {
  /** The end of each line. Default: `\n`. */
  readonly lineEnding?: LineEnding;
  /** True if the stream starts with U+FEFF. Default: false. */
  readonly byteOrderMark?: boolean;
  /**
   * True if a space follows the colon. Without the space, lines look like `data:{…}`. Some gateways send this
   * form. Default: true.
   */
  readonly spaceAfterColon?: boolean;
  /** A comment before each event, for example `OPENROUTER PROCESSING`. Default: none. */
  readonly comment?: string;
  /** True if `data: [DONE]` follows the last event. Default: false. */
  readonly done?: boolean;
  /**
   * The end of the stream: with a blank line, with only the end of the last line, or without a line end.
   * Default: `blank-line`.
   */
  readonly ending?: 'blank-line' | 'line-end' | 'nothing';
  /**
   * The events that get an `event:` line. `given`: events that have a name. `type`: also events whose data
   * has a `type` field, which becomes the name. `none`: no events. Default: `given`.
   */
  readonly eventNames?: 'given' | 'type' | 'none';
}

/**
 * Encodes server-sent events as bytes, one frame per event. A frame has the comment, the event and
 * a blank line.
 */
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

/** Encodes server-sent events as one byte array. A test can split the array at any position. */
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

/**
 * Returns the line end of an event. All lines of an event have the same line end. Otherwise a CR, followed by
 * an LF on the next line, would count as one line end.
 */
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

/**
 * Splits bytes at these offsets. No piece is empty, because repeated offsets and offsets at the start or end
 * are ignored.
 */
export function splitAt(bytes: Uint8Array, offsets: Iterable<number>): readonly Uint8Array[] {
  const cuts = [...new Set([0, ...offsets, bytes.length])].sort((a, b) => a - b);
  for (const cut of cuts) assertOffset(cut, bytes.length);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

/** Splits bytes into pieces of this length. The last piece may be shorter. */
export function splitEvery(bytes: Uint8Array, length: number): readonly Uint8Array[] {
  if (!(Number.isInteger(length) && length > 0)) {
    throw new ScriptedServerError(
      'bad_script',
      `Cannot split every ${length} bytes: use a whole number from 1`,
    );
  }
  const count = Math.ceil(bytes.length / length);
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  );
}

/** Joins several byte arrays into one. */
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
  throw new ScriptedServerError('bad_script', `Cannot split at ${offset}: ${range}`);
}

/**
 * Returns the `type` field of an event's data, or undefined if the data is not a JSON object with
 * such a field.
 */
function eventType(data: string): string | undefined {
  const parsed = parseJson(data);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const type = 'type' in parsed.value ? parsed.value['type'] : undefined;
  return typeof type === 'string' ? type : undefined;
}
