/** Keys that are not characters. */
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

interface ArrivedText {
  readonly text: string;
  /**
   * True if the text is all that arrived, so that it is no part of a longer paste. A terminal sends the path of a dropped
   * file in this way. Default: false.
   */
  readonly isWhole?: boolean | undefined;
}

/** One input from the user, decoded from the bytes of the terminal. */
export type Key =
  /** One or more typed characters. Several characters can arrive together. */
  | ({ readonly type: 'text' } & ArrivedText)
  /** A complete bracketed paste. */
  | ({ readonly type: 'paste' } & ArrivedText)
  | ({ readonly type: 'key'; readonly name: KeyName } & Modifiers)
  /**
   * A character with Ctrl or Alt. The character is in lower case. `shift` is true if it was in
   * upper case.
   */
  | ({ readonly type: 'chord'; readonly char: string } & Modifiers);

export const noModifiers: Modifiers = { ctrl: false, alt: false, shift: false };

export function namedKey(name: KeyName, modifiers: Modifiers = noModifiers): Key {
  return { type: 'key', name, ...modifiers };
}

/**
 * Creates a chord. An upper-case character counts as Shift. Some terminals report Shift, and others
 * send an upper-case character.
 */
export function chord(char: string, modifiers: Modifiers): Key {
  const lower = char.toLowerCase();
  return { type: 'chord', char: lower, ...modifiers, shift: modifiers.shift || lower !== char };
}

/**
 * Returns the key with Alt, because terminals encode Alt as Esc before the key. A single character
 * becomes a chord.
 */
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

/** Returns the key for a control character (C0 or DEL). */
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
