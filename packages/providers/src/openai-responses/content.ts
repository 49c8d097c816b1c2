import type { FilePart, JsonObject, MediaPart } from '@millrace/core';
import { contentOf, urlOf } from '../history/content-of.ts';
import type { SaidPart } from '../history/message.ts';
import { fault } from '../wire/wire-fault.ts';

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

export function attachment(part: MediaPart | FilePart): JsonObject {
  const { mimeType } = part;
  if (mimeType.startsWith('image/')) {
    return { type: 'input_image', image_url: urlOf(part), detail: 'auto' };
  }
  if (/^(?:audio|video)\//.test(mimeType)) {
    throw fault('invalid_request', `the Responses API takes no ${mimeType}; leave it out`);
  }
  const content = contentOf(part);
  if (content.type === 'url') return { type: 'input_file', file_url: content.url };
  const filename = part.kind === 'file' ? part.name : 'attachment';
  return { type: 'input_file', filename, file_data: urlOf(part) };
}
