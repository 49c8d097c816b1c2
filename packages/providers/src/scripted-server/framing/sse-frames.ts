import { eventType } from './event-type.ts';
import { joinBytes } from './split-bytes.ts';

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
