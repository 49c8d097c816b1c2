import type { FilePart, JsonObject, MediaPart } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { contentOf, urlOf } from '../history/content-of.ts';
import type { SaidPart } from '../history/message.ts';

/** A piece of what the model is told. */
export function inputContent(part: SaidPart): JsonObject {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'structured':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'media':
    case 'file':
      return attachment(part);
  }
}

/** Of an assistant or a tool: what cannot be shown is named, because it stays in the history. */
export function shownAttachment(part: MediaPart | FilePart): JsonObject {
  return isShowable(part) ? attachment(part) : { type: 'input_text', text: nameOf(part) };
}

export function isShowable({ mimeType, source }: MediaPart | FilePart): boolean {
  return source.type !== 'blob' && !isSoundOrFilm(mimeType);
}

export function nameOf({ mimeType }: MediaPart | FilePart): string {
  return `[${mimeType.toWellFormed()}, not shown]`;
}

function isSoundOrFilm(mimeType: string): boolean {
  return /^(?:audio|video)\//.test(mimeType);
}

function attachment(part: MediaPart | FilePart): JsonObject {
  const { mimeType } = part;
  if (mimeType.startsWith('image/')) {
    return { type: 'input_image', image_url: urlOf(part), detail: 'auto' };
  }
  if (isSoundOrFilm(mimeType)) {
    throw fault('invalid_request', `the Responses API takes no ${mimeType}; leave it out`);
  }
  const content = contentOf(part);
  if (content.type === 'url') return { type: 'input_file', file_url: content.url };
  const filename = part.kind === 'file' ? part.name : 'attachment';
  return { type: 'input_file', filename, file_data: urlOf(part) };
}
