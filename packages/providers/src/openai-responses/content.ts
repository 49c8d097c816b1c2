import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  contentOf,
  isTextual,
  tellAttachment,
  typeOf,
  urlOf,
} from '../history/attachment.ts';
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
      return attachmentContent(part);
  }
}

/** As the API takes it; what it would refuse, and with it every later request, is told in words. */
export function attachmentContent(part: Attachment): JsonObject {
  return shownAttachment(part) ?? { type: 'input_text', text: tellAttachment(part) };
}

/** A picture or a document of a form that the API takes; undefined for all else. */
export function shownAttachment(part: Attachment): JsonObject | undefined {
  const content = contentOf(part);
  const type = typeOf(content);
  if (pictures.test(type)) {
    return { type: 'input_image', image_url: urlOf(content), detail: 'auto' };
  }
  if (content.type === 'url') {
    return documents.test(type) || isTextual(type)
      ? { type: 'input_file', file_url: content.url }
      : undefined;
  }
  if (!documents.test(type)) return undefined;
  const filename = part.kind === 'file' ? part.name.toWellFormed() : 'attachment';
  return { type: 'input_file', filename, file_data: urlOf(content) };
}

/** `*` is of an address whose type nobody knows. */
const pictures = /^image\/(?:png|jpe?g|gif|webp|\*)$/;

/** Text goes as text: not all servers of this API read files of it. */
const documents =
  /^application\/(?:pdf|msword|vnd\.(?:ms-(?:excel|powerpoint)|oasis\.opendocument\.text|openxmlformats-officedocument\.(?:wordprocessingml\.document|presentationml\.presentation|spreadsheetml\.sheet)))$/;
