import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  type Content,
  contentOf,
  isTextual,
  tellAttachment,
  typeOf,
} from '../history/attachment.ts';
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
      return attachmentPart(part);
  }
}

/** As the API takes it; what it would refuse, and with it every later request, is told in words. */
export function attachmentPart(part: Attachment): JsonObject {
  return shownAttachment(part) ?? { text: tellAttachment(part) };
}

/** A picture, a sound, a film or a PDF of a form that the API takes; undefined for all else. */
function shownAttachment(part: Attachment): JsonObject | undefined {
  const content = contentOf(part);
  const type = typeOf(content);
  if (media.test(type)) return dataOf(content);
  // Text goes as text, of which it takes every sort, unless only the provider can read it.
  if (content.type === 'base64' || !isTextual(type)) return undefined;
  return dataOf({ ...content, mimeType: 'text/plain' });
}

/** Whatever it is, as it is. */
export function dataPart(part: Attachment): JsonObject {
  return dataOf(contentOf(part));
}

/** The bytes themselves, or where the provider finds them. */
function dataOf(content: Content): JsonObject {
  const { mimeType } = content;
  return content.type === 'base64'
    ? { inlineData: { mimeType, data: content.data } }
    : { fileData: { mimeType, fileUri: content.url } };
}

const media = new RegExp(
  `^(?:${[
    'application/pdf',
    'image/(?:png|jpe?g|webp|heic|heif|bmp)',
    'audio/(?:(?:x-|vnd\\.)?wave?|mp3|mpeg|mpga|mp4|(?:x-)?(?:m4a|aiff|flac|aac)|ogg|opus|webm|pcm|l16)',
    'video/(?:mp4|mpeg|mpg|mpegps|mov|quicktime|avi|(?:x-)?msvideo|(?:x-)?flv|webm|(?:x-ms-)?wmv|3gpp)',
  ].join('|')})$`,
);
