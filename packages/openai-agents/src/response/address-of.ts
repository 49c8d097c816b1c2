import { type FilePart, type MediaPart, toBase64 } from '@millrace/core';

/** Where its bytes are, as the SDK writes it; undefined for what is kept beside a log. */
export function addressOf({ source, mimeType }: MediaPart | FilePart): string | undefined {
  switch (source.type) {
    case 'bytes':
      return `data:${mimeType};base64,${toBase64(source.bytes)}`;
    case 'url':
      return source.url;
    case 'blob':
      return undefined;
  }
}
