/** Keys that are no characters. */
export type KeyName =
  | 'enter'
  | 'escape'
  | 'tab'
  | 'backspace'
  | 'delete'
  | 'insert'
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'home'
  | 'end'
  | 'page_up'
  | 'page_down';

export interface Modifiers {
  readonly ctrl: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
}

/** What a terminal sends, as one thing that a person did. */
export type Key =
  /** Characters as typed; several where they came at once. */
  | { readonly type: 'text'; readonly text: string }
  /** A bracketed paste, whole. */
  | { readonly type: 'paste'; readonly text: string }
  | ({ readonly type: 'key'; readonly name: KeyName } & Modifiers)
  /** A character with Ctrl or Alt, in lower case: `shift` says where it was not. */
  | ({ readonly type: 'chord'; readonly char: string } & Modifiers);

export const noModifiers: Modifiers = { ctrl: false, alt: false, shift: false };

export function namedKey(name: KeyName, modifiers: Modifiers = noModifiers): Key {
  return { type: 'key', name, ...modifiers };
}

/** Upper case counts as Shift: terminals send one or the other. */
export function chord(char: string, modifiers: Modifiers): Key {
  const lower = char.toLowerCase();
  return { type: 'chord', char: lower, ...modifiers, shift: modifiers.shift || lower !== char };
}

/** The same key with Alt, which terminals say by an Esc before it. Text of one character becomes a chord. */
export function withAlt(key: Key): Key {
  switch (key.type) {
    case 'text':
      return chord(key.text, { ...noModifiers, alt: true });
    case 'paste':
      return key;
    case 'key':
    case 'chord':
      return { ...key, alt: true };
  }
}

/** What a control character is as a key: C0 and DEL. */
export function controlKey(char: string): Key | undefined {
  const code = char.charCodeAt(0);
  if (code === 0x0d) return namedKey('enter');
  if (code === 0x09) return namedKey('tab');
  if (code === 0x7f || code === 0x08) return namedKey('backspace');
  if (code === 0x1b) return namedKey('escape');
  if (code === 0) return ctrl(' ');
  if (code < 0x1b) return ctrl(String.fromCharCode(code + 0x60));
  return code < 0x20 ? ctrl(String.fromCharCode(code + 0x40)) : undefined;
}

function ctrl(char: string): Key {
  return chord(char, { ...noModifiers, ctrl: true });
}
