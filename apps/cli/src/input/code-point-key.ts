import { chord, type Key, type KeyName, type Modifiers, namedKey } from './key.ts';

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
export interface CodePointKey extends Modifiers {
  readonly code: number;
  /** With Shift; where the terminal says it. */
  readonly shifted?: number | undefined;
  /** On a keyboard with Latin letters. */
  readonly base?: number | undefined;
  /** The text that it makes. */
  readonly text?: readonly number[] | undefined;
}

export function codePointKey(told: CodePointKey): Key | undefined {
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
