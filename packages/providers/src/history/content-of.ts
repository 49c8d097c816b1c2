import { type FilePart, type MediaPart, toBase64 } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

/** Where a picture or a document is, as wires want it: in the request, or at an address. */
export type Content =
  | { readonly type: 'base64'; readonly data: string }
  | { readonly type: 'url'; readonly url: string };

export function contentOf({ source, kind }: MediaPart | FilePart): Content {
  switch (source.type) {
    case 'bytes':
      return { type: 'base64', data: toBase64(source.bytes) };
    case 'url':
      return { type: 'url', url: source.url };
    case 'blob':
      throw fault('invalid_request', `a ${kind} part is in a blob; load it before it is sent`);
  }
}

/** One address for both. */
export function urlOf(part: MediaPart | FilePart): string {
  const content = contentOf(part);
  return content.type === 'url' ? content.url : `data:${part.mimeType};base64,${content.data}`;
}
