export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined;
}

// `ignoreBOM` keeps a byte order mark as a normal character. Encoding the text again then produces exactly
// the same bytes.
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

export function decodeUtf8(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** Decodes UTF-8. Returns undefined if the bytes are not valid UTF-8. */
export function tryDecodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch {
    return undefined;
  }
}

// The number of bytes that one call of `String.fromCharCode` converts. Each byte is an argument of the call.
// Every JavaScript engine accepts this number of arguments.
const stride = 8192;

/**
 * Maps each byte to the character with the same code, so that regular expressions can search bytes. The
 * character at position n represents the byte at position n.
 */
export function toLatin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += stride) {
    // `Reflect.apply` is used because a call with the spread syntax takes five times as long.
    text += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(at, at + stride));
  }
  return text;
}

export function fromLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/**
 * The form of bytes in a JSON line. It is readable text if the bytes are valid UTF-8, and otherwise base64.
 */
type EncodedBytes =
  | { readonly text: string; readonly base64?: undefined }
  | { readonly base64: string; readonly text?: undefined };

export function encodeBytes(bytes: Uint8Array): EncodedBytes {
  const text = tryDecodeUtf8(bytes);
  return text === undefined ? { base64: btoa(toLatin1(bytes)) } : { text };
}

/** Decodes base64. Returns undefined if the text differs from the exact form that `encodeBytes` writes. */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    const latin1 = atob(text);
    // `atob` also accepts spaces and unused trailing bits. The result is therefore encoded again and compared
    // with the text.
    return btoa(latin1) === text ? fromLatin1(latin1) : undefined;
  } catch {
    return undefined;
  }
}
