import { toLatin1 } from '../bytes.ts';

// JSON writes a backslash in front of some characters, and JSON within JSON several.
const slashes = String.raw`\\{1,16}`;
const maybeSlashes = String.raw`\\{0,16}`;

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\b', 'b'],
  ['\f', 'f'],
  ['\n', 'n'],
  ['\r', 'r'],
  ['\t', 't'],
]);

/** The beginning of one character at the end of what came: of an escape or a pair of them, of UTF-8. */
const cutCharacter = new RegExp(
  [
    String.raw`(?:\\{1,16}u[dD][89abAB][0-9a-fA-F]{2})?(?:\\{1,16}(?:u[0-9a-fA-F]{0,3})?)?$`,
    `(?:%(?:25)*[89a-fA-F][0-9a-fA-F]){0,3}(?:%(?:25)*[0-9a-fA-F]?)?$`,
    String.raw`[\xc2-\xf4][\x80-\xbf]{0,2}$`,
  ].join('|'),
  'y',
);

/** So much of a secret's beginning gives it away. */
const tellingUnits = 4;

/** How one secret may be written: as it is, in JSON, percent-encoded, or a mix of them. */
interface SecretForms {
  /** For Latin-1 text. */
  readonly pattern: RegExp;
  /** Where in a text that was cut off the beginning of the secret stands at its end, if it does. */
  startAtEndOf(text: string): number | undefined;
}

export function secretForms(secret: string): SecretForms {
  const units = [...secret.matchAll(/\\+|[^\\]/gsu)].map(([unit], at) => formsOf(unit, at));
  const beginning = units.map((forms) => forms.map((form) => new RegExp(form, 'y')));
  // No character is written longer than a pair of `\uXXXX` with all its backslashes.
  const longest = units.length * 48;
  return {
    pattern: new RegExp(units.map((forms) => `(?:${forms.join('|')})`).join(''), 'g'),
    startAtEndOf(text) {
      for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
        if (isBeginning(beginning, text, at)) return at;
      }
      return undefined;
    },
  };
}

/** Does the text from here to its end go on as the secret does from this unit, and tell enough of it? */
function isBeginning(
  units: readonly (readonly RegExp[])[],
  text: string,
  at: number,
  next: number = 0,
): boolean {
  cutCharacter.lastIndex = at;
  if (next >= tellingUnits && cutCharacter.test(text)) return true;
  const forms = units[next] ?? [];
  return forms.some((form) => {
    form.lastIndex = at;
    return form.test(text) && isBeginning(units, text, form.lastIndex, next + 1);
  });
}

/** One character in all its forms; a run of backslashes is one, because each level doubles it. */
function formsOf(unit: string, at: number): readonly string[] {
  const forms = [rawForm(unit, at), unicodeForm(unit), percentForm(unit)];
  const short = shortEscapes.get(unit);
  if (short !== undefined) forms.push(slashes + short);
  if (unit === ' ') forms.push(String.raw`\+`);
  return forms;
}

function rawForm(unit: string, at: number): string {
  if (unit.startsWith('\\')) return `\\\\{${unit.length},${unit.length * 16}}`;
  // The first one takes what escapes it along: without it a lone backslash would be left.
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
