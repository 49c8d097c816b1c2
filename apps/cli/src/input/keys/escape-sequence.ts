import { controlKey, type Key, namedKey, withAlt } from './key.ts';
import { applicationKey, sequenceKey } from './sequence-key.ts';

const esc = '\u001b';
/**
 * Maximum length of a control sequence. Real sequences are much shorter, so a longer one is
 * dropped.
 */
const maxControlLength = 128;
const maxStringLength = 65_536;

/**
 * A sequence that starts with Esc. `end` is the position after it. If `key` is undefined, the
 * sequence is ignored.
 */
interface Sequence {
  readonly end: number;
  readonly key?: Key | undefined;
  readonly isPasteStart?: boolean;
}

/** Reads the escape sequence at a position. Returns `more` if the sequence is not complete yet. */
export function readEscape(input: string, at: number): Sequence | 'more' {
  const next = input[at + 1];
  switch (next) {
    case undefined:
      return 'more';
    case '[':
      return readControl(input, at);
    case 'O':
      return readApplication(input, at);
    case ']':
    case 'P':
      return readString(input, at);
    case esc:
      return readTwice(input, at);
    default:
      return readAlt(input, at);
  }
}

/**
 * Returns the keys of an incomplete sequence when no more input arrives. A truncated sequence is
 * dropped.
 */
export function flushEscape(input: string): readonly Key[] {
  if (input === esc) return [namedKey('escape')];
  if (input === esc + esc) return [namedKey('escape'), namedKey('escape')];
  return input.length === 2 ? [withAlt({ type: 'text', text: input.slice(1) })] : [];
}

/**
 * Reads Esc and a second escape sequence after it. Some terminals send this for Alt with an arrow
 * key.
 */
function readTwice(input: string, at: number): Sequence | 'more' {
  const third = input[at + 2];
  if (third === undefined) return 'more';
  if (third !== '[' && third !== 'O') return { end: at + 1, key: namedKey('escape') };
  const inner = readEscape(input, at + 1);
  if (inner === 'more' || inner.key === undefined) return inner;
  return { end: inner.end, key: withAlt(inner.key) };
}

function readAlt(input: string, at: number): Sequence | 'more' {
  const code = input.codePointAt(at + 1) ?? 0;
  if (code >= 0xd800 && code < 0xdc00) return 'more';
  const char = String.fromCodePoint(code);
  const isControl = code < 0x20 || code === 0x7f;
  const key: Key | undefined = isControl ? controlKey(char) : { type: 'text', text: char };
  return { end: at + 1 + char.length, key: key && withAlt(key) };
}

function readControl(input: string, at: number): Sequence | 'more' {
  const start = at + 2;
  // Two kinds of sequences continue after the usual end: function keys of the Linux console, and
  // the oldest mouse reports.
  const extra = input[start] === '[' ? 1 : input[start] === 'M' ? 3 : 0;
  if (extra > 0) return readExtra(input, start + 1, extra);
  // In rxvt, `$` ends a sequence. In other terminals, further characters follow it.
  const shifted = /^[2-8]\$/.exec(input.slice(start, start + 2));
  if (shifted !== null) return { end: start + 2, key: sequenceKey(shifted[0].charAt(0), '$') };
  return readFinal(input, at);
}

/** Skips `count` code points of any kind. */
function readExtra(input: string, at: number, count: number): Sequence | 'more' {
  const characters = [...input.slice(at, at + 2 * count)].slice(0, count);
  const end = at + characters.join('').length;
  const isHalf = end === input.length && /[\ud800-\udbff]$/.test(input);
  return characters.length < count || isHalf ? 'more' : { end };
}

function readFinal(input: string, at: number): Sequence | 'more' {
  const form = /([0-?]*)[ -/]*([@-~])?/y;
  form.lastIndex = at + 2;
  const [, parameters = '', final] = form.exec(input) ?? [];
  const end = form.lastIndex;
  if (end - at > maxControlLength) return { end: at + maxControlLength };
  // If an unexpected character ends the sequence, that character is read separately.
  if (final === undefined) return end < input.length ? { end } : 'more';
  if (final === '~' && parameters === '200') return { end, isPasteStart: true };
  return { end, key: sequenceKey(parameters, final) };
}

function readApplication(input: string, at: number): Sequence | 'more' {
  const form = /([0-9;]{0,8})([A-Za-z])?/y;
  form.lastIndex = at + 2;
  const [, parameters = '', final] = form.exec(input) ?? [];
  if (final !== undefined) return { end: form.lastIndex, key: applicationKey(parameters, final) };
  if (form.lastIndex === input.length) return 'more';
  return parameters === '' ? readAlt(input, at) : { end: form.lastIndex };
}

/**
 * Skips answers of the terminal (OSC and DCS). Such an answer starts with a character that users do
 * not type with Alt.
 */
function readString(input: string, at: number): Sequence | 'more' {
  const first = input[at + 2];
  if (first === undefined) return 'more';
  if (!/[0-9>|!+$]/.test(first)) return readAlt(input, at);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this is how they end
  const end = /\u0007|\u001b\\|[\u0018\u001a]/g;
  end.lastIndex = at + 2;
  const isEnded = end.exec(input) !== null && end.lastIndex - at <= maxStringLength;
  if (isEnded) return { end: end.lastIndex };
  return input.length - at > maxStringLength ? { end: at + maxStringLength } : 'more';
}
