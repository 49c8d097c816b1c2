import type { JsonObject } from '@millrace/core';
import type { ModelInput } from '../contract/model-info.ts';
import {
  type Attachment,
  type AttachmentContent,
  attachmentContent,
  describeAttachment,
  isTextType,
  mediaTypeOf,
} from '../history/attachment.ts';
import type { ContentPart } from '../history/message.ts';
import { withOptions } from '../wire/provider-options.ts';

/** Converts text, JSON, a picture or a document to a part of the API. */
export function contentPart(part: ContentPart, inputs?: readonly ModelInput[]): JsonObject {
  switch (part.kind) {
    case 'text':
      return { text: part.text };
    case 'structured':
      return { text: JSON.stringify(part.value) };
    case 'media':
    case 'file':
      return attachmentPart(part, inputs);
  }
}

/**
 * Converts an attachment. Types that the API or the model would reject, in this request and every
 * later one, are described as text. `inputs`: what the model reads. Default: all types of the API.
 */
export function attachmentPart(part: Attachment, inputs?: readonly ModelInput[]): JsonObject {
  const native = nativeAttachment(part, inputs);
  return native === undefined
    ? { text: describeAttachment(part) }
    : withOptions(native, part.options);
}

/** Media of a type that the API accepts. Undefined for other types. */
function nativeAttachment(
  part: Attachment,
  inputs: readonly ModelInput[] | undefined,
): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  const kind = type === 'application/pdf' ? 'pdf' : type.replace(/\/.*/s, '');
  const isRead = inputs === undefined || inputs.some((input) => input === kind);
  if (nativeTypes.test(type)) return isRead ? dataField(content) : undefined;
  // Text is sent as text, whatever its type. Only text at a URL must be fetched by the provider.
  if (content.type === 'base64' || !isTextType(type)) return undefined;
  return dataField({ ...content, mimeType: 'text/plain' });
}

/** Converts an attachment without checking its type. */
export function dataPart(part: Attachment): JsonObject {
  return dataField(attachmentContent(part));
}

/** The bytes themselves, or the URL or file from which the provider reads them. */
function dataField(content: AttachmentContent): JsonObject {
  const { mimeType } = content;
  switch (content.type) {
    case 'base64':
      return { inlineData: { mimeType, data: content.data } };
    case 'url':
      return { fileData: { mimeType, fileUri: content.url } };
    case 'file':
      return { fileData: { mimeType, fileUri: content.id } };
  }
}

/** Whether media of a type are uploaded. Text is sent as text. */
export function takesFile(mimeType: string): boolean {
  return nativeTypes.test(mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '');
}

const nativeTypes = new RegExp(
  `^(?:${[
    'application/pdf',
    'image/(?:png|jpe?g|webp|heic|heif|bmp)',
    'audio/(?:(?:x-|vnd\\.)?wave?|mp3|mpeg|mpga|mp4|(?:x-)?(?:m4a|aiff|flac|aac)|ogg|opus|webm|pcm|l16)',
    'video/(?:mp4|mpeg|mpg|mpegps|mov|quicktime|avi|(?:x-)?msvideo|(?:x-)?flv|webm|(?:x-ms-)?wmv|3gpp)',
  ].join('|')})$`,
);
