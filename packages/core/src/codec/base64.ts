// This file implements base64 itself, because core also runs in engines without `Buffer` and `btoa`. The
// base64 methods of Uint8Array are too new: some supported engines do not have them.
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const padding = 61; // =

const codes: Uint8Array = Uint8Array.from(alphabet, (char) => char.charCodeAt(0));
const invalid = 255;
const values: Uint8Array = new Uint8Array(128).fill(invalid);
for (const [value, code] of codes.entries()) values[code] = value;

/** Encodes bytes as base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let out = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text[out++] = codes[group >> 18] ?? 0;
    text[out++] = codes[(group >> 12) & 63] ?? 0;
    text[out++] = at + 1 < bytes.length ? (codes[(group >> 6) & 63] ?? 0) : padding;
    text[out++] = at + 2 < bytes.length ? (codes[group & 63] ?? 0) : padding;
  }
  return asciiText(text);
}

// The number of bytes per call of `String.fromCharCode`. Every engine accepts this number of arguments.
const stride = 8192;

function asciiText(ascii: Uint8Array): string {
  let text = '';
  for (let at = 0; at < ascii.length; at += stride) {
    text += String.fromCharCode(...ascii.subarray(at, at + stride));
  }
  return text;
}

/** Returns the number of bytes that a base64 text decodes to, without decoding it. */
export function decodedLength(text: string): number {
  return (text.length / 4) * 3 - paddingOf(text);
}

function paddingOf(text: string): number {
  if (text.endsWith('==')) return 2;
  return text.endsWith('=') ? 1 : 0;
}

/**
 * Decodes padded base64. Returns undefined if the text contains characters that are not base64, or has wrong
 * padding.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padded = paddingOf(text);
  const bytes = new Uint8Array(decodedLength(text));
  const digits = text.length - padded;
  let held = 0;
  let out = 0;
  for (let at = 0; at < digits; at++) {
    const value = values[text.charCodeAt(at)] ?? invalid;
    if (value === invalid) return undefined;
    held = (held << 6) | value;
    const spare = 6 - 2 * (at % 4); // the bits that belong to the next byte
    if (at % 4 !== 0) bytes[out++] = (held >> spare) & 255;
  }
  const leftover = padded === 2 ? held & 15 : padded === 1 ? held & 3 : 0;
  return leftover === 0 ? bytes : undefined;
}
