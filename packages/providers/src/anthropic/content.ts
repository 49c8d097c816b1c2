import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  type AttachmentContent,
  attachmentContent,
  attachmentText,
  describeAttachment,
  isTextType,
  mediaTypeOf,
} from '../history/attachment.ts';
import type { ContentPart } from '../history/message.ts';
import { withOptions } from '../wire/provider-options.ts';

/**
 * Creates a text block. Returns undefined for text without visible characters, because the API rejects such
 * text.
 */
export function textBlock(text: string): JsonObject | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text };
}

/** Converts a content part to a content block of the API. */
export function contentBlock(part: ContentPart): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      return textBlock(part.text);
    case 'structured':
      return textBlock(JSON.stringify(part.value));
    case 'media':
    case 'file':
      return attachmentBlock(part);
  }
}

/**
 * Converts an attachment to a block. If the API rejects the attachment's type, a text describes the
 * attachment. Otherwise this request and all later requests would fail.
 */
export function attachmentBlock(part: Attachment): JsonObject {
  const native = nativeAttachment(part);
  return native === undefined
    ? { type: 'text', text: describeAttachment(part) }
    : withOptions(native, part.options);
}

/** Creates an image or document block. Returns undefined for all other types. */
function nativeAttachment(part: Attachment): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  if (imageTypes.test(type)) return { type: 'image', source: sourceOf(content) };
  const title = part.kind === 'file' ? { title: part.name.toWellFormed() } : {};
  if (type === 'application/pdf') return { type: 'document', source: sourceOf(content), ...title };
  if (content.type === 'file') {
    return isTextType(type) ? { type: 'document', source: sourceOf(content), ...title } : undefined;
  }
  const text = attachmentText(part);
  // The API rejects a document without visible characters.
  if (text === undefined || text.trim() === '') return undefined;
  const source = { type: 'text', media_type: 'text/plain', data: text };
  return { type: 'document', source, ...title };
}

/**
 * Returns the media type under which an attachment is uploaded. Returns undefined if attachments of this type
 * are not uploaded.
 */
export function storedType(type: string): string | undefined {
  if (isTextType(type)) return 'text/plain';
  const isTaken = type === 'application/pdf' || (imageTypes.test(type) && !type.endsWith('*'));
  return isTaken ? type : undefined;
}

/** Matches the image types that the API accepts. `*` stands for the unknown type of an image at a URL. */
const imageTypes = /^image\/(?:png|jpe?g|gif|webp|\*)$/;

function sourceOf(content: AttachmentContent): JsonObject {
  switch (content.type) {
    case 'url':
      return { type: 'url', url: content.url };
    case 'file':
      return { type: 'file', file_id: content.id };
    case 'base64':
      return { type: 'base64', media_type: content.mimeType, data: content.data };
  }
}
