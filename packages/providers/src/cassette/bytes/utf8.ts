// A byte order mark is a character like any other here: what is read must be what was written.
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

export function decodeUtf8(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** The text, or undefined where the bytes are no UTF-8 by themselves. */
export function tryDecodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}
