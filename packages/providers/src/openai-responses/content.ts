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
import { withOptions } from '../wire/provider-options.ts';

/** Converts a content part to an input part of the API. */
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

/**
 * Converts an attachment to an input. If the API rejects the attachment's type, a text describes the
 * attachment. Otherwise this request and all later requests would fail.
 */
export function attachmentInput(part: Attachment): JsonObject {
  return nativeAttachment(part) ?? { type: 'input_text', text: describeAttachment(part) };
}

/** Converts an image or document whose type the API accepts. Returns undefined for other types. */
export function nativeAttachment(part: Attachment): JsonObject | undefined {
  const native = nativeContent(part);
  return native && withOptions(native, part.options);
}

function nativeContent(part: Attachment): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  if (imageTypes.test(type)) {
    const place =
      content.type === 'file' ? { file_id: content.id } : { image_url: contentUrl(content) };
    return { type: 'input_image', ...place, detail: 'auto' };
  }
  if (content.type === 'file') {
    return documentTypes.test(type) || isTextType(type)
      ? { type: 'input_file', file_id: content.id }
      : undefined;
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

/** Returns whether an image or document of this type is uploaded. Text is never uploaded. */
export function takesFile(type: string): boolean {
  return (imageTypes.test(type) && !type.endsWith('*')) || documentTypes.test(type);
}

/**
 * Matches the image types that the API accepts. `*` stands for the unknown type of an image at a
 * URL.
 */
const imageTypes = /^image\/(?:png|jpe?g|gif|webp|\*)$/;

/**
 * Matches the document types that the API accepts. Text files are sent as text, because some servers of this
 * API cannot read them as files.
 */
const documentTypes =
  /^application\/(?:pdf|msword|vnd\.(?:ms-(?:excel|powerpoint)|oasis\.opendocument\.text|openxmlformats-officedocument\.(?:wordprocessingml\.document|presentationml\.presentation|spreadsheetml\.sheet)))$/;
