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

/** What rxvt puts in place of `~` where a modifier is held. */
const byEnd: Readonly<Record<string, Modifiers>> = {
  '~': noModifiers,
  '^': { ...noModifiers, ctrl: true },
  $: { ...noModifiers, shift: true },
  '@': { ...noModifiers, ctrl: true, shift: true },
};

/** What is behind `ESC [` and `ESC O` as a key; nothing for reports and for keys that nobody uses here. */
export function sequenceKey(parameters: string, final: string): Key | undefined {
  // Mouse reports and answers to questions begin like this.
  if (/^[<=>?]/.test(parameters)) return undefined;
  const fields = parameters.split(';').map((field) => field.split(':'));
  const [first = ''] = fields[0] ?? [];
  const [modifiers, event] = fields[1] ?? [];
  const held = heldKeys(modifiers);
  if (held === undefined || event === '3') return undefined;
  if (final === 'u') return unicodeKey(fields, held);
  if (final === 'Z') return namedKey('tab', { ...held, shift: true });
  const number = byNumber[first];
  const end = byEnd[final];
  if (final === '~' && first === '27') return codePointKey({ ...held, code: numberOf(fields[2]) });
  if (end !== undefined)
    return number === undefined ? undefined : namedKey(number, both(held, end));
  return letterKey(final, held);
}

/** Of rxvt, small letters are arrows with Shift. */
function letterKey(final: string, held: Modifiers): Key | undefined {
  const name = byLetter[final];
  if (name !== undefined) return namedKey(name, held);
  const shifted = /^[a-d]$/.test(final) ? byLetter[final.toUpperCase()] : undefined;
  return shifted === undefined ? undefined : namedKey(shifted, { ...held, shift: true });
}

/** `ESC O`: rxvt's arrows with Ctrl, the keypad's Enter, and what terminals send in application mode. */
export function applicationKey(parameters: string, final: string): Key | undefined {
  if (final === 'M') return namedKey('enter');
  const ctrlArrow = /^[a-d]$/.test(final) ? byLetter[final.toUpperCase()] : undefined;
  if (ctrlArrow !== undefined) return namedKey(ctrlArrow, { ...noModifiers, ctrl: true });
  const held = heldKeys(parameters.split(';').at(-1));
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

/** Nothing where a key is held that makes a shortcut of the desktop: Super or Hyper. */
function heldKeys(field: string | undefined): Modifiers | undefined {
  const bits = Math.max(0, Number(field || 1) - 1);
  if (!Number.isSafeInteger(bits) || (bits & 0b11000) !== 0) return undefined;
  return {
    shift: (bits & 1) !== 0,
    alt: (bits & 0b100010) !== 0,
    ctrl: (bits & 4) !== 0,
  };
}

function both(a: Modifiers, b: Modifiers): Modifiers {
  return { ctrl: a.ctrl || b.ctrl, alt: a.alt || b.alt, shift: a.shift || b.shift };
}

const names: ReadonlyMap<number, KeyName> = new Map([
  [8, 'backspace'],
  [9, 'tab'],
  [10, 'enter'],
  [13, 'enter'],
  [27, 'escape'],
  [127, 'backspace'],
  // Of the keypad, as the kitty protocol numbers them.
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

/** What a terminal says of a key that has a code point: CSI u, or xterm's modifyOtherKeys. */
interface CodePointKey extends Modifiers {
  readonly code: number;
  /** With Shift; where the terminal says it. */
  readonly shifted?: number | undefined;
  /** On a keyboard with Latin letters. */
  readonly base?: number | undefined;
  /** The text that it makes. */
  readonly text?: readonly number[] | undefined;
}

function codePointKey(told: CodePointKey): Key | undefined {
  const { code, base, ctrl, alt, shift } = told;
  const name = names.get(code);
  if (name !== undefined) return namedKey(name, { ctrl, alt, shift });
  const onKeypad = keypad.charAt(code - firstOfKeypad);
  const text = onKeypad === '' ? textOf(told) : onKeypad;
  if (text === undefined) return undefined;
  if (!ctrl && !alt) return { type: 'text', text };
  // Shortcuts are named after Latin letters, whatever the keyboard's are.
  const char = charOf(base ?? code) ?? text;
  return chord(onKeypad || char, { ctrl, alt, shift });
}

function textOf({ code, shifted, text, shift }: CodePointKey): string | undefined {
  const plain = charOf(code);
  if (plain === undefined) return undefined;
  const told = text?.map(charOf).join('');
  if (told !== undefined && told !== '') return told;
  return shift ? (charOf(shifted ?? 0) ?? plain.toUpperCase()) : plain;
}

/** Nothing for what is no character: controls, halves of pairs, and the private ones, which stand for other keys. */
function charOf(code: number): string | undefined {
  const isCharacter = code >= 32 && code <= 0x10ffff && !(code >= 0x7f && code < 0xa0);
  const isPrivate = code >= 0xd800 && code <= 0xf8ff;
  return isCharacter && !isPrivate ? String.fromCodePoint(code) : undefined;
}
