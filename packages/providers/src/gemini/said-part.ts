import type { FilePart, JsonObject, MediaPart } from '@millrace/core';
import { contentOf } from '../history/content-of.ts';
import type { SaidPart } from '../history/message.ts';

/** Text, JSON, a picture or a document. */
export function saidPart(part: SaidPart): JsonObject {
  switch (part.kind) {
    case 'text':
      return { text: part.text };
    case 'structured':
      return { text: JSON.stringify(part.value) };
    case 'media':
    case 'file':
      return dataPart(part);
  }
}

/** The bytes themselves, or where the provider finds them. */
export function dataPart(part: MediaPart | FilePart): JsonObject {
  const { mimeType } = part;
  const content = contentOf(part);
  if (content.type === 'base64') return { inlineData: { mimeType, data: content.data } };
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(content.url) ?? [];
  return type === undefined || data === undefined
    ? { fileData: { mimeType, fileUri: content.url } }
    : { inlineData: { mimeType: type, data } };
}
