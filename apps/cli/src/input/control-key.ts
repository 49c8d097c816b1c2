import { chord, type Key, namedKey, noModifiers } from './key.ts';

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
