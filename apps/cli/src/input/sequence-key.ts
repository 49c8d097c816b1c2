import { codePointKey } from './code-point-key.ts';
import { type Key, type KeyName, type Modifiers, namedKey, noModifiers } from './key.ts';

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
