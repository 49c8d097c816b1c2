import { chord, type Key, type KeyName, type Modifiers, namedKey, noModifiers } from './key.ts';

const byLetter: Readonly<Record<string, KeyName>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  F: 'end',
  H: 'home',
};

const byNumber: Readonly<Record<string, KeyName>> = {
  '1': 'home',
  '2': 'insert',
  '3': 'delete',
  '4': 'end',
  '5': 'page_up',
  '6': 'page_down',
  '7': 'home',
  '8': 'end',
};

/**
 * The modifiers, by the last character of a sequence. While the user holds a modifier, rxvt ends a
 * sequence with a character other than `~`.
 */
const modifiersByEnd: Readonly<Record<string, Modifiers>> = {
  '~': noModifiers,
  '^': { ...noModifiers, ctrl: true },
  $: { ...noModifiers, shift: true },
  '@': { ...noModifiers, ctrl: true, shift: true },
};

/**
 * Returns the key for an `ESC [` sequence. Returns undefined for reports of the terminal and for
 * unused keys.
 */
export function sequenceKey(parameters: string, final: string): Key | undefined {
  // Mouse reports and answers of the terminal start with these characters.
  if (/^[<=>?]/.test(parameters)) return undefined;
  const fields = parameters.split(';').map((field) => field.split(':'));
  const [first = ''] = fields[0] ?? [];
  const [modifiers, event] = fields[1] ?? [];
  const held = modifiersIn(modifiers);
  if (held === undefined || event === '3') return undefined;
  if (final === 'u') return unicodeKey(fields, held);
  if (final === 'Z') return namedKey('tab', { ...held, shift: true });
  const number = byNumber[first];
  const end = modifiersByEnd[final];
  if (final === '~' && first === '27') return codePointKey({ ...held, code: numberOf(fields[2]) });
  if (end !== undefined)
    return number === undefined ? undefined : namedKey(number, mergeModifiers(held, end));
  return letterKey(final, held);
}

/**
 * Returns the key for a letter that ends a sequence. In rxvt, lower-case letters mean arrow keys
 * with Shift.
 */
function letterKey(final: string, held: Modifiers): Key | undefined {
  const name = byLetter[final];
  if (name !== undefined) return namedKey(name, held);
  const shifted = /^[a-d]$/.test(final) ? byLetter[final.toUpperCase()] : undefined;
  return shifted === undefined ? undefined : namedKey(shifted, { ...held, shift: true });
}

/**
 * Returns the key for an `ESC O` sequence. Examples are rxvt's arrow keys with Ctrl, the Enter key
 * of the keypad, and keys in application mode.
 */
export function applicationKey(parameters: string, final: string): Key | undefined {
  if (final === 'M') return namedKey('enter');
  const ctrlArrow = /^[a-d]$/.test(final) ? byLetter[final.toUpperCase()] : undefined;
  if (ctrlArrow !== undefined) return namedKey(ctrlArrow, { ...noModifiers, ctrl: true });
  const held = modifiersIn(parameters.split(';').at(-1));
  const name = byLetter[final];
  return name === undefined || held === undefined ? undefined : namedKey(name, held);
}

type Fields = readonly (readonly string[])[];

function unicodeKey(fields: Fields, held: Modifiers): Key | undefined {
  const [code = '', shifted = '', base = ''] = fields[0] ?? [];
  return codePointKey({
    ...held,
    code: Number(code),
    shifted: shifted === '' ? undefined : Number(shifted),
    base: base === '' ? undefined : Number(base),
    text: fields[2]?.map(Number),
  });
}

function numberOf(field: readonly string[] | undefined): number {
  return Number(field?.[0] ?? 0);
}

/**
 * Returns the modifiers of a sequence. Returns undefined if the user holds Super or Hyper, because
 * desktops use these keys for shortcuts.
 */
function modifiersIn(field: string | undefined): Modifiers | undefined {
  const bits = Math.max(0, Number(field || 1) - 1);
  if (!Number.isSafeInteger(bits) || (bits & 0b11000) !== 0) return undefined;
  return {
    shift: (bits & 1) !== 0,
    alt: (bits & 0b100010) !== 0,
    ctrl: (bits & 4) !== 0,
  };
}

function mergeModifiers(a: Modifiers, b: Modifiers): Modifiers {
  return { ctrl: a.ctrl || b.ctrl, alt: a.alt || b.alt, shift: a.shift || b.shift };
}

const namedCodePoints: ReadonlyMap<number, KeyName> = new Map([
  [8, 'backspace'],
  [9, 'tab'],
  [10, 'enter'],
  [13, 'enter'],
  [27, 'escape'],
  [127, 'backspace'],
  // The keypad keys, with their numbers in the kitty protocol.
  [57414, 'enter'],
  [57417, 'left'],
  [57418, 'right'],
  [57419, 'up'],
  [57420, 'down'],
  [57421, 'page_up'],
  [57422, 'page_down'],
  [57423, 'home'],
  [57424, 'end'],
  [57425, 'insert'],
  [57426, 'delete'],
]);

const firstOfKeypad = 57399;
const keypad = '0123456789./*-+';

/**
 * A key that the terminal reports as a code point, in the form of CSI u or of xterm's
 * modifyOtherKeys.
 */
interface CodePointKey extends Modifiers {
  readonly code: number;
  /** The code point with Shift. Undefined if the terminal does not report it. */
  readonly shifted?: number | undefined;
  /** Code point of the same key on a Latin keyboard. */
  readonly base?: number | undefined;
  /** Code points of the text that the key produces. */
  readonly text?: readonly number[] | undefined;
}

function codePointKey(report: CodePointKey): Key | undefined {
  const { code, base, ctrl, alt, shift } = report;
  const name = namedCodePoints.get(code);
  if (name !== undefined) return namedKey(name, { ctrl, alt, shift });
  const onKeypad = keypad.charAt(code - firstOfKeypad);
  const text = onKeypad === '' ? textOf(report) : onKeypad;
  if (text === undefined) return undefined;
  if (!ctrl && !alt) return { type: 'text', text };
  // Shortcuts use Latin letters, even on keyboards with a different script.
  const char = charOf(base ?? code) ?? text;
  return chord(onKeypad || char, { ctrl, alt, shift });
}

function textOf({ code, shifted, text, shift }: CodePointKey): string | undefined {
  const plain = charOf(code);
  if (plain === undefined) return undefined;
  const report = text?.map(charOf).join('');
  if (report !== undefined && report !== '') return report;
  return shift ? (charOf(shifted ?? 0) ?? plain.toUpperCase()) : plain;
}

/**
 * Returns the character of a code point. Returns undefined for control characters, surrogates and
 * private-use code points, because terminals use these for other keys.
 */
function charOf(code: number): string | undefined {
  const isCharacter = code >= 32 && code <= 0x10ffff && !(code >= 0x7f && code < 0xa0);
  const isPrivate = code >= 0xd800 && code <= 0xf8ff;
  return isCharacter && !isPrivate ? String.fromCodePoint(code) : undefined;
}
