import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  type AttachmentContent,
  attachmentContent,
  attachmentText,
  describeAttachment,
  mediaTypeOf,
} from '../history/attachment.ts';
import type { ContentPart } from '../history/message.ts';

/** A text; undefined where there is nothing but space in it, which the API refuses. */
export function textBlock(text: string): JsonObject | undefined {
  return text.trim() === '' ? undefined : { type: 'text', text };
}

/** What is said, as the API wants it. */
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

/** As the API takes it; what it would refuse, and with it every later request, is told in words. */
export function attachmentBlock(part: Attachment): JsonObject {
  return nativeAttachment(part) ?? { type: 'text', text: describeAttachment(part) };
}

/** A picture or a document; undefined for what is neither. */
function nativeAttachment(part: Attachment): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  if (imageTypes.test(type)) return { type: 'image', source: sourceOf(content) };
  const title = part.kind === 'file' ? { title: part.name.toWellFormed() } : {};
  if (type === 'application/pdf') return { type: 'document', source: sourceOf(content), ...title };
  const text = attachmentText(part);
  // A document of nothing but space is refused.
  if (text === undefined || text.trim() === '') return undefined;
  const source = { type: 'text', media_type: 'text/plain', data: text };
  return { type: 'document', source, ...title };
}

/** `*` is of an address whose type nobody knows. */
const imageTypes = /^image\/(?:png|jpe?g|gif|webp|\*)$/;

function sourceOf(content: AttachmentContent): JsonObject {
  return content.type === 'url'
    ? { type: 'url', url: content.url }
    : { type: 'base64', media_type: content.mimeType, data: content.data };
}
