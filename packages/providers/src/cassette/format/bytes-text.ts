import { fromLatin1, toLatin1 } from '../bytes/latin1.ts';
import { tryDecodeUtf8 } from '../bytes/utf8.ts';

/** Bytes in a line of JSON: as text for people where they are UTF-8 by themselves. */
export type BytesText =
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
