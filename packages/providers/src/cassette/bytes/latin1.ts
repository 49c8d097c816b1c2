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
