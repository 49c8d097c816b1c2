import { toBase64 } from '@millrace/core';

export interface DataUrl {
  readonly mimeType: string;
  readonly base64: string;
}

/** What is in an address that is its own content; undefined for one that points elsewhere. */
export function readDataUrl(url: string): DataUrl | undefined {
  const [, head, data] = /^data:([^,]*),(.*)$/is.exec(url) ?? [];
  if (head === undefined || data === undefined) return undefined;
  const [, mimeType = '', isBase64] = /^(.*?)(;base64)?$/i.exec(head) ?? [];
  const base64 = isBase64 === undefined ? ofText(data) : data;
  return base64 === undefined ? undefined : { mimeType: mimeType || 'text/plain', base64 };
}

/** Letters stand for themselves, all else for its bytes; what is neither is no data. */
function ofText(data: string): string | undefined {
  try {
    return toBase64(new TextEncoder().encode(decodeURIComponent(data)));
  } catch {
    return undefined;
  }
}
