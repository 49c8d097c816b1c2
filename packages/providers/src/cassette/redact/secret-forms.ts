import { toLatin1 } from '../bytes.ts';

// JSON puts one backslash before some characters. JSON that is nested inside JSON puts several backslashes.
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
 * Matches one incomplete character at the end of a text. It can be part of an escape, of an escaped surrogate
 * pair, or of a UTF-8 sequence.
 */
const cutCharacter = new RegExp(
  [
    String.raw`(?:\\{1,16}u[dD][89abAB][0-9a-fA-F]{2})?(?:\\{1,16}(?:u[0-9a-fA-F]{0,3})?)?$`,
    `(?:%(?:25)*[89a-fA-F][0-9a-fA-F]){0,3}(?:%(?:25)*[0-9a-fA-F]?)?$`,
    String.raw`[\xc2-\xf4][\x80-\xbf]{0,2}$`,
  ].join('|'),
  'y',
);

/** If a text ends with at least this many units from the start of a secret, it reveals the secret. */
const minRevealingUnits = 4;

/** Finds one secret in all its forms: unchanged, in small or capital letters, JSON-escaped, percent-encoded, or mixed. */
interface SecretForms {
  /** Matches the whole secret in Latin-1 text. */
  readonly pattern: RegExp;
  /**
   * If the text was cut off inside the secret, returns the position at which the first part of the secret
   * starts.
   */
  partialStartIn(text: string): number | undefined;
}

export function secretForms(secret: string): SecretForms {
  const units = [...secret.matchAll(/\\+|[^\\]/gsu)].map(([unit], at) => formsOf(unit, at));
  const prefixPatterns = units.map((forms) => forms.map((form) => new RegExp(form, 'y')));
  // The longest form of one character consists of two `\uXXXX` escapes, in which each backslash is escaped
  // several times.
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
 * Returns whether the rest of the text matches the secret, starting at the unit `next`, and is long enough to
 * reveal the secret.
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
 * Returns all forms of one character, in small and capital letters, as regular expressions. A sequence of backslashes counts as one unit,
 * because each level of escaping doubles them.
 */
function formsOf(given: string, at: number): readonly string[] {
  // The name of a host, for example, has only small letters.
  const spellings = new Set([given, given.toLowerCase(), given.toUpperCase()]);
  return [...spellings].flatMap((unit) => formsOfUnit(unit, at));
}

function formsOfUnit(unit: string, at: number): readonly string[] {
  const forms = [rawForm(unit, at), unicodeForm(unit), percentForm(unit)];
  const short = shortEscapes.get(unit);
  if (short !== undefined) forms.push(slashes + short);
  if (unit === ' ') forms.push(String.raw`\+`);
  return forms;
}

function rawForm(unit: string, at: number): string {
  if (unit.startsWith('\\')) return `\\\\{${unit.length},${unit.length * 16}}`;
  // The match includes the backslashes before the first unit. Otherwise a single backslash would remain.
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
