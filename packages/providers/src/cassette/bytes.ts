export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

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

// As many arguments as every engine takes in one call.
const stride = 8192;

/** Bytes as a text in which character n is byte n, so that patterns find places in bytes. */
export function toLatin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += stride) {
    // Spreading them takes five times as long.
    text += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(at, at + stride));
  }
  return text;
}

export function fromLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** Bytes in a line of JSON: as text for people where they are UTF-8 by themselves. */
type BytesText =
  | { readonly text: string; readonly base64?: undefined }
  | { readonly base64: string; readonly text?: undefined };

export function writeBytes(bytes: Uint8Array): BytesText {
  const text = tryDecodeUtf8(bytes);
  return text === undefined ? { base64: btoa(toLatin1(bytes)) } : { text };
}

/** Undefined where the text is not base64 as `writeBytes` writes it. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    const latin1 = atob(text);
    // atob also takes spaces, and bits that are in no byte.
    return btoa(latin1) === text ? fromLatin1(latin1) : undefined;
  } catch {
    return undefined;
  }
}
