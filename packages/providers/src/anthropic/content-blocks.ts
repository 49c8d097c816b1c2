import type { FilePart, JsonObject, MediaPart } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { contentOf } from '../history/content-of.ts';
import type { SaidPart } from '../history/message.ts';

/** A text; undefined where there is nothing but space in it, which the API refuses. */
export function textBlock(text: string): JsonObject | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text };
}

/** What is said, as the API wants it. Throws for what it has no form for. */
export function saidBlock(part: SaidPart): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      return textBlock(part.text);
    case 'structured':
      return textBlock(JSON.stringify(part.value));
    case 'media':
    case 'file': {
      const block = mediaBlock(part);
      if (block !== undefined) return block;
      throw fault(
        'invalid_request',
        `a ${part.kind} part is ${part.mimeType}, which it cannot read`,
      );
    }
  }
}

/** A picture or a document; undefined for what is neither. */
export function mediaBlock(part: MediaPart | FilePart): JsonObject | undefined {
  const { mimeType } = part;
  const title = part.kind === 'file' ? { title: part.name.toWellFormed() } : {};
  if (mimeType.startsWith('image/')) return { type: 'image', source: sourceOf(part) };
  if (mimeType === 'application/pdf') {
    return { type: 'document', source: sourceOf(part), ...title };
  }
  return isTextual(mimeType) ? { type: 'document', source: textSource(part), ...title } : undefined;
}

function isTextual(mimeType: string): boolean {
  return /^text\/|[/+](?:json|xml|yaml|javascript|typescript|toml)\b/.test(mimeType);
}

function sourceOf(part: MediaPart | FilePart): JsonObject {
  const content = contentOf(part);
  if (content.type === 'base64') {
    return { type: 'base64', media_type: mediaType(part.mimeType), data: content.data };
  }
  // The API fetches no data URL.
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(content.url) ?? [];
  return type === undefined || data === undefined
    ? { type: 'url', url: content.url }
    : { type: 'base64', media_type: mediaType(type), data };
}

function mediaType(mimeType: string): string {
  return mimeType === 'image/jpg' ? 'image/jpeg' : mimeType;
}

function textSource(part: MediaPart | FilePart): JsonObject {
  const { source } = part;
  if (source.type !== 'bytes') return sourceOf(part);
  return { type: 'text', media_type: 'text/plain', data: new TextDecoder().decode(source.bytes) };
}
