import type { JsonObject } from '@millrace/core';
import {
  type Attachment,
  attachmentContent,
  contentUrl,
  describeAttachment,
  mediaTypeOf,
} from '../history/attachment.ts';
import { objectIn } from '../json/fields.ts';
import { withOptions } from '../wire/provider-options.ts';
import type { ChatDialect } from './options.ts';

/**
 * Converts an attachment to a part. If the server rejects the attachment's type, a text describes the
 * attachment. Otherwise this request and all later requests would fail.
 */
export function attachmentPart(part: Attachment, dialect: ChatDialect): JsonObject {
  return nativeAttachment(part, dialect) ?? { type: 'text', text: describeAttachment(part) };
}

/** Converts an image, PDF or audio file whose type the server accepts. Returns undefined for other types. */
export function nativeAttachment(part: Attachment, dialect: ChatDialect): JsonObject | undefined {
  const native = nativeContent(part, dialect);
  if (native === undefined || part.options === undefined) return native;
  // The caller's options are merged into the inner object: `{ type: 'image_url', image_url: { url, detail }
  // }`.
  const type = String(native['type']);
  const inner = objectIn(native, type);
  return inner && { ...native, [type]: withOptions(inner, part.options) };
}

function nativeContent(part: Attachment, dialect: ChatDialect): JsonObject | undefined {
  const { attachmentTypes: shows } = dialect;
  const content = attachmentContent(part);
  const type = mediaTypeOf(content);
  if (content.type === 'file') {
    return takesFile(type, dialect) ? { type: 'file', file: { file_id: content.id } } : undefined;
  }
  if (imageTypes.test(type) && shows.includes('image')) {
    return { type: 'image_url', image_url: { url: contentUrl(content) } };
  }
  // Servers can read only images from a URL.
  if (content.type === 'url') return undefined;
  const format = audioFormat(type);
  if (format !== undefined && shows.includes('audio')) {
    return { type: 'input_audio', input_audio: { data: content.data, format } };
  }
  if (type !== 'application/pdf' || !shows.includes('pdf')) return undefined;
  const filename = part.kind === 'file' ? part.name.toWellFormed() : 'attachment.pdf';
  return { type: 'file', file: { filename, file_data: contentUrl(content) } };
}

/** Returns whether attachments of this type are uploaded. The API accepts file ids only for documents. */
export function takesFile(type: string, { attachmentTypes }: ChatDialect): boolean {
  return type === 'application/pdf' && attachmentTypes.includes('pdf');
}

/**
 * Matches the image types that the API accepts. `*` stands for the unknown type of an image at a
 * URL.
 */
const imageTypes = /^image\/(?:png|jpe?g|gif|webp|\*)$/;

function audioFormat(type: string): 'wav' | 'mp3' | undefined {
  if (/^audio\/(?:x-|vnd\.)?wave?$/.test(type)) return 'wav';
  return /^audio\/(?:x-)?(?:mp3|mpeg|mpeg3)$/.test(type) ? 'mp3' : undefined;
}
