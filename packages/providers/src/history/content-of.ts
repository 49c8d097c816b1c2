import { type FilePart, type MediaPart, toBase64 } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { readDataUrl } from './data-url.ts';
import { essenceOf, properType } from './mime-type.ts';

/** What comes with a message: a picture, a sound, a document. */
export type Attachment = MediaPart | FilePart;

/** Where it is, as wires want it: in the request, or at an address. */
export type Content =
  | { readonly type: 'base64'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'url'; readonly mimeType: string; readonly url: string };

export function contentOf({ source, kind, mimeType: said }: Attachment): Content {
  const mimeType = properType(said);
  switch (source.type) {
    case 'bytes':
      return { type: 'base64', mimeType, data: toBase64(source.bytes) };
    case 'url': {
      const inside = readDataUrl(source.url);
      if (inside === undefined) return { type: 'url', mimeType, url: source.url };
      return { type: 'base64', mimeType: properType(inside.mimeType), data: inside.base64 };
    }
    case 'blob':
      throw fault('invalid_request', `a ${kind} part is in a blob; load it before it is sent`);
  }
}

/** One address for both. */
export function urlOf(content: Content): string {
  return content.type === 'url' ? content.url : `data:${content.mimeType};base64,${content.data}`;
}

/** What a wire knows it by, without parameters; of nothing none, since that is refused as any. */
export function typeOf(content: Content): string {
  const isEmpty = content.type === 'base64' && content.data === '';
  return isEmpty ? '' : essenceOf(content.mimeType);
}
