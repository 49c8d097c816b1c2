import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  type AttachmentContent,
  attachmentContent,
  describeAttachment,
  isTextType,
  mediaTypeOf,
} from '../history/attachment.ts';
import type { ContentPart } from '../history/message.ts';

/** Text, JSON, a picture or a document. */
export function contentPart(part: ContentPart): JsonObject {
  switch (part.kind) {
    case 'text':
      return { text: part.text };
    case 'structured':
      return { text: JSON.stringify(part.value) };
    case 'media':
    case 'file':
      return attachmentPart(part);
  }
}

/** As the API takes it; what it would refuse, and with it every later request, is told in words. */
export function attachmentPart(part: Attachment): JsonObject {
  return nativeAttachment(part) ?? { text: describeAttachment(part) };
}

/** A picture, a sound, a film or a PDF of a form that the API takes; undefined for all else. */
function nativeAttachment(part: Attachment): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  if (nativeTypes.test(type)) return dataField(content);
  // Text goes as text, of which it takes every sort, unless only the provider can read it.
  if (content.type === 'base64' || !isTextType(type)) return undefined;
  return dataField({ ...content, mimeType: 'text/plain' });
}

/** Whatever it is, as it is. */
export function dataPart(part: Attachment): JsonObject {
  return dataField(attachmentContent(part));
}

/** The bytes themselves, or where the provider finds them. */
function dataField(content: AttachmentContent): JsonObject {
  const { mimeType } = content;
  return content.type === 'base64'
    ? { inlineData: { mimeType, data: content.data } }
    : { fileData: { mimeType, fileUri: content.url } };
}

const nativeTypes = new RegExp(
  `^(?:${[
    'application/pdf',
    'image/(?:png|jpe?g|webp|heic|heif|bmp)',
    'audio/(?:(?:x-|vnd\\.)?wave?|mp3|mpeg|mpga|mp4|(?:x-)?(?:m4a|aiff|flac|aac)|ogg|opus|webm|pcm|l16)',
    'video/(?:mp4|mpeg|mpg|mpegps|mov|quicktime|avi|(?:x-)?msvideo|(?:x-)?flv|webm|(?:x-ms-)?wmv|3gpp)',
  ].join('|')})$`,
);
