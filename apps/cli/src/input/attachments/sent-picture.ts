import type { MediaPart } from '@millrace/core';
import { fileKind } from '@millrace/tools';

/** Maximum size of a picture, as in the terminal. */
const maxPictureBytes = 5_000_000;
/** Maximum number of pictures in one message. */
export const maxPictures = 20;

type SentPicture =
  | { readonly picture: MediaPart }
  | {
      /** The reason why the picture cannot be used. It is a clause without a full stop. */
      readonly problem: string;
    };

/** Reads a picture that an editor or another program sends as Base64. */
export function readSentPicture(base64: string): SentPicture {
  const bytes = new Uint8Array(Buffer.from(base64, 'base64'));
  const kind = fileKind(bytes);
  if (kind.type !== 'image')
    return { problem: 'only PNG, JPEG, GIF and WebP pictures are supported' };
  if (bytes.length > maxPictureBytes)
    return { problem: `a picture can have at most ${maxPictureBytes} bytes` };
  const source = { type: 'bytes', bytes } as const;
  return { picture: { kind: 'media', mimeType: kind.mimeType, source } };
}
