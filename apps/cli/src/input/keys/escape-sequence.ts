import { controlKey, type Key, namedKey, withAlt } from './key.ts';
import { applicationKey, sequenceKey } from './sequence-key.ts';

const esc = '\u001b';
/**
 * Maximum length of a control sequence. Real sequences are far shorter. A longer one is dropped.
 */
const maxControlLength = 128;
const maxStringLength = 65_536;

/**
 * A sequence that starts with Esc. `end` is the position after it. If it has no key, it is ignored.
 */
interface Sequence {
  readonly end: number;
  readonly key?: Key | undefined;
  readonly isPasteStart?: boolean;
}

/** Reads the escape sequence at a position. Returns `more` if it depends on the next input. */
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
 * Returns the keys of an incomplete sequence when no more input comes. A sequence that was cut off
 * is dropped.
 */
export function flushEscape(input: string): readonly Key[] {
  if (input === esc) return [namedKey('escape')];
  if (input === esc + esc) return [namedKey('escape'), namedKey('escape')];
  return input.length === 2 ? [withAlt({ type: 'text', text: input.slice(1) })] : [];
}

/**
 * Reads Esc followed by another escape sequence. Some terminals send Alt with an arrow key this
 * way.
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
  // Function keys of the Linux console and the oldest mouse reports continue after the usual end of
  // a sequence.
  const extra = input[start] === '[' ? 1 : input[start] === 'M' ? 3 : 0;
  if (extra > 0) return readExtra(input, start + 1, extra);
  // In rxvt, `$` ends a sequence. In other terminals a character follows it.
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
  // If another character cuts the sequence short, that character is read separately.
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
 * Skips answers of the terminal (OSC and DCS). The text of such an answer starts with a character
 * that nobody types with Alt.
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
