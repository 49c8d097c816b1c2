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

/** Converts text, JSON, a picture or a document to a part in the format of the API. */
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
 * Converts an attachment to a part. If the API or the model rejects the attachment's type, a text describes
 * the attachment. Otherwise this request and all later requests would fail. `inputs` lists the types that the
 * model reads. Default: all types of the API.
 */
export function attachmentPart(part: Attachment, inputs?: readonly ModelInput[]): JsonObject {
  const native = nativeAttachment(part, inputs);
  return native === undefined
    ? { text: describeAttachment(part) }
    : withOptions(native, part.options);
}

/** Converts media whose type the API accepts. Returns undefined for other types. */
function nativeAttachment(
  part: Attachment,
  inputs: readonly ModelInput[] | undefined,
): JsonObject | undefined {
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  const kind = type === 'application/pdf' ? 'pdf' : type.replace(/\/.*/s, '');
  const isRead = inputs === undefined || inputs.some((input) => input === kind);
  if (nativeTypes.test(type)) return isRead ? dataField(content) : undefined;
  // Text inside the request is sent as text, whatever its type. If the text is at a URL, the provider must
  // read it.
  if (content.type === 'base64' || !isTextType(type)) return undefined;
  return dataField({ ...content, mimeType: 'text/plain' });
}

/** Converts an attachment without checking its type. */
export function dataPart(part: Attachment): JsonObject {
  return dataField(attachmentContent(part));
}

/** Returns the field with the bytes, or with the URL or file from which the provider reads the bytes. */
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

/** Returns whether attachments of this type are uploaded. Text is never uploaded. */
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
