import { toLatin1 } from '../bytes.ts';

// JSON puts one backslash before some characters. Nested JSON puts several.
const slashes = String.raw`\\{1,16}`;
const maybeSlashes = String.raw`\\{0,16}`;

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\b', 'b'],
  ['\f', 'f'],
  ['\n', 'n'],
  ['\r', 'r'],
  ['\t', 't'],
]);

/**
 * The incomplete start of one character at the end of a text: of an escape, of a surrogate pair in
 * escapes, or of a UTF-8 sequence.
 */
const cutCharacter = new RegExp(
  [
    String.raw`(?:\\{1,16}u[dD][89abAB][0-9a-fA-F]{2})?(?:\\{1,16}(?:u[0-9a-fA-F]{0,3})?)?$`,
    `(?:%(?:25)*[89a-fA-F][0-9a-fA-F]){0,3}(?:%(?:25)*[0-9a-fA-F]?)?$`,
    String.raw`[\xc2-\xf4][\x80-\xbf]{0,2}$`,
  ].join('|'),
  'y',
);

/** A prefix of this length already reveals the secret. */
const minRevealingUnits = 4;

/** All ways in which one secret can be written: as is, JSON-escaped, percent-encoded, or mixed. */
interface SecretForms {
  /** Matches Latin-1 text. */
  readonly pattern: RegExp;
  /** Returns the position where a prefix of the secret starts, if the cut text ends with one. */
  partialStartIn(text: string): number | undefined;
}

export function secretForms(secret: string): SecretForms {
  const units = [...secret.matchAll(/\\+|[^\\]/gsu)].map(([unit], at) => formsOf(unit, at));
  const prefixPatterns = units.map((forms) => forms.map((form) => new RegExp(form, 'y')));
  // The longest form of a character is a pair of `\uXXXX` with all their backslashes.
  const longest = units.length * 48;
  return {
    pattern: new RegExp(units.map((forms) => `(?:${forms.join('|')})`).join(''), 'g'),
    partialStartIn(text) {
      for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
        if (matchesPrefix(prefixPatterns, text, at)) return at;
      }
      return undefined;
    },
  };
}

/**
 * Checks whether the rest of the text equals the secret from this unit on, and is long enough to
 * reveal it.
 */
function matchesPrefix(
  units: readonly (readonly RegExp[])[],
  text: string,
  at: number,
  next: number = 0,
): boolean {
  cutCharacter.lastIndex = at;
  if (next >= minRevealingUnits && cutCharacter.test(text)) return true;
  const forms = units[next] ?? [];
  return forms.some((form) => {
    form.lastIndex = at;
    return form.test(text) && matchesPrefix(units, text, form.lastIndex, next + 1);
  });
}

/**
 * All forms of one character. A run of backslashes is one unit, because each level of escaping
 * doubles it.
 */
function formsOf(unit: string, at: number): readonly string[] {
  const forms = [rawForm(unit, at), unicodeForm(unit), percentForm(unit)];
  const short = shortEscapes.get(unit);
  if (short !== undefined) forms.push(slashes + short);
  if (unit === ' ') forms.push(String.raw`\+`);
  return forms;
}

function rawForm(unit: string, at: number): string {
  if (unit.startsWith('\\')) return `\\\\{${unit.length},${unit.length * 16}}`;
  // The first unit includes its escape characters. Otherwise a lone backslash would remain.
  const isEscaped = at === 0 || `"'/`.includes(unit);
  const raw = [...toLatin1(new TextEncoder().encode(unit))].map(byteSource).join('');
  return isEscaped ? maybeSlashes + raw : raw;
}

const byteSource = (byte: string): string => `\\x${hex(byte.charCodeAt(0), 2)}`;

function unicodeForm(unit: string): string {
  const codes = Array.from({ length: unit.length }, (_, index) => unit.charCodeAt(index));
  return codes.map((code) => `${slashes}u${anyCase(hex(code, 4))}`).join('');
}

function percentForm(unit: string): string {
  const bytes = [...new TextEncoder().encode(unit)];
  return bytes.map((byte) => `%(?:25){0,4}${anyCase(hex(byte, 2))}`).join('');
}

const hex = (code: number, length: number): string => code.toString(16).padStart(length, '0');

const anyCase = (digits: string): string =>
  digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
