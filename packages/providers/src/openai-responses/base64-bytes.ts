import { fromBase64 } from '@millrace/core';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The bytes of base64 as servers write it: url-safe or not, with or without all of its padding. */
export function base64Bytes(text: string): Uint8Array | undefined {
  const digits = text
    .replace(/[=\s]+$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  return fromBase64(padded(digits));
}

/** With padding, and without bits in the last digit that belong to no byte. */
function padded(digits: string): string {
  const over = digits.length % 4;
  if (over === 0) return digits;
  const last = alphabet.indexOf(digits.charAt(digits.length - 1));
  const mask = over === 2 ? 0b110000 : 0b111100;
  const cleared = last < 0 ? '?' : alphabet.charAt(last & mask);
  return `${digits.slice(0, -1)}${cleared}`.padEnd(digits.length + 4 - over, '=');
}
