import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  attachmentContent,
  contentUrl,
  describeAttachment,
  isTextType,
  mediaTypeOf,
} from '../history/attachment.ts';
import type { ContentPart } from '../history/message.ts';

/** A piece of what the model is told. */
export function inputContent(part: ContentPart): JsonObject {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'structured':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'media':
    case 'file':
      return attachmentInput(part);
  }
}

/** As the API takes it; what it would refuse, and with it every later request, is told in words. */
export function attachmentInput(part: Attachment): JsonObject {
  return nativeAttachment(part) ?? { type: 'input_text', text: describeAttachment(part) };
}

/** A picture or a document of a form that the API takes; undefined for all else. */
export function nativeAttachment(part: Attachment): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  if (imageTypes.test(type)) {
    return { type: 'input_image', image_url: contentUrl(content), detail: 'auto' };
  }
  if (content.type === 'url') {
    return documentTypes.test(type) || isTextType(type)
      ? { type: 'input_file', file_url: content.url }
      : undefined;
  }
  if (!documentTypes.test(type)) return undefined;
  const filename = part.kind === 'file' ? part.name.toWellFormed() : 'attachment';
  return { type: 'input_file', filename, file_data: contentUrl(content) };
}

/** `*` is of an address whose type nobody knows. */
const imageTypes = /^image\/(?:png|jpe?g|gif|webp|\*)$/;

/** Text goes as text: not all servers of this API read files of it. */
const documentTypes =
  /^application\/(?:pdf|msword|vnd\.(?:ms-(?:excel|powerpoint)|oasis\.opendocument\.text|openxmlformats-officedocument\.(?:wordprocessingml\.document|presentationml\.presentation|spreadsheetml\.sheet)))$/;
