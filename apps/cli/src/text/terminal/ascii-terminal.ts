import type { Env } from '../../contract/host.ts';
import { cellWidth } from '../cells/cell-width.ts';

// A terminal without UTF-8 draws the bytes of a letter as other signs, and some of these bytes control it. It therefore
// gets only ASCII: codes in questions, and signs of the same width elsewhere.

/**
 * Returns true if the locale says that the terminal has no UTF-8, for example `C` or `de_DE`. Without a locale, it counts
 * as one with UTF-8, because most terminals are.
 */
export function isAsciiTerminal(env: Env, platform: NodeJS.Platform = process.platform): boolean {
  // Windows does not use these variables.
  if (platform === 'win32') return false;
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  return locale !== '' && !/utf-?8/i.test(locale);
}

/** Returns the text of a question, which this program has made visible, in ASCII. Letters become codes, such as `<U+7EFF>`. */
export function asciiQuestion(text: string): string {
  return text.toWellFormed().replace(notAscii, (char) => signs.get(char) ?? codeOf(char));
}

/**
 * Returns the texts of a value with codes instead of all characters that ASCII does not show, at any depth, also in the
 * names of fields. Other values, such as functions, stay. For the same object, it returns the same object.
 */
export function asciiTexts<Value>(value: Value): Value {
  return coded(value, '') as Value;
}

/** The results for objects. A question is drawn many times. */
const codedObjects = new WeakMap<object, unknown>();

function coded(value: unknown, field: string): unknown {
  if (typeof value === 'string') return codedText(value, field === 'diff' ? notInDiff : notInCall);
  if (Array.isArray(value)) return value.map((one) => coded(one, field));
  if (typeof value !== 'object' || value === null) return value;
  const known = codedObjects.get(value);
  if (known !== undefined) return known;
  const entries = Object.entries(value);
  const made = Object.fromEntries(
    entries.map(([name, one]) => [codedText(name, notInCall), coded(one, name)]),
  );
  codedObjects.set(value, made);
  return made;
}

/** Replaces characters with codes. A text that looks like a code gets one too, so that two texts never become equal. */
function codedText(text: string, hidden: RegExp): string {
  return text
    .toWellFormed()
    .replace(/<(?=U\+)/g, codeOf)
    .replace(hidden, (run) => [...run].map(codeOf).join(''));
}

/** Replaces each character that is not ASCII with a sign of the same width, so that drawn lines keep their width. */
function asciiCells(text: string): string {
  return text
    .toWellFormed()
    .replace(notAscii, (char) => signs.get(char) ?? '?'.repeat(cellWidth(char)));
}

/** Returns a terminal that gets only ASCII. It has all other properties of the given terminal. */
export function asciiTerminal<Target extends NodeJS.WritableStream>(given: Target): Target {
  const write = (data: string | Uint8Array, ...rest: readonly never[]): boolean =>
    given.write(
      asciiCells(typeof data === 'string' ? data : Buffer.from(data).toString()),
      ...rest,
    );
  return new Proxy(given, {
    get: (target, name) => {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function codeOf(char: string): string {
  return `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

const notAscii = /[^\0-\x7f]/gu;
/** Matches what must become a code in a call. The signs for tabs and for spaces at the end of a line are not ASCII. */
const notInCall = /[^\n -~]|(?<! ) +$/gmu;
const notInDiff = /[^\t\n -~]/gu;

/** The signs that this program itself draws. */
const signs: ReadonlyMap<string, string> = new Map([
  ...[...'│┃┆'].map((sign) => [sign, '|'] as const),
  ...[...'─━—–‑‐'].map((sign) => [sign, '-'] as const),
  ...[...'›↳→▶❯'].map((sign) => [sign, '>'] as const),
  ...[...'‹←◀'].map((sign) => [sign, '<'] as const),
  ...[...'⏎␊⇥≈'].map((sign) => [sign, '~'] as const),
  ...[...'·…'].map((sign) => [sign, '.'] as const),
  ...[...'•◦▪●'].map((sign) => [sign, '*'] as const),
  ...[...'“”'].map((sign) => [sign, '"'] as const),
  ...[...'‘’'].map((sign) => [sign, "'"] as const),
  ...([
    ['✓', '+'],
    ['✗', 'x'],
    ['×', 'x'],
    ['␣', '_'],
    ['\u00a0', ' '],
    ['⌫', '<'],
  ] as const),
]);
