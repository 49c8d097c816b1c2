import type {
  LanguageModelV4FilePart,
  LanguageModelV4TextPart,
  SharedV4FileDataData,
  SharedV4FileDataUrl,
} from '@ai-sdk/provider';
import { fault } from '../errors/wire-fault.ts';
import {
  type Attachment,
  attachmentContent,
  attachmentText,
  describeAttachment,
  mediaTypeOf,
} from '../history/attachment.ts';

/** The kinds of file data that this package sends. The SDK supports more kinds. */
export type SentData = SharedV4FileDataData | SharedV4FileDataUrl;

interface SentFile extends LanguageModelV4FilePart {
  data: SentData;
}

/**
 * Converts an attachment to a file, or to text that describes it. Most packages throw for unusual media
 * types. The attachment would then make every later request fail too.
 */
export function attachmentPart(part: Attachment): SentFile | LanguageModelV4TextPart {
  const type = mediaTypeOf(attachmentContent(part));
  const isTold = attachmentText(part) !== undefined || !nativeTypes.test(type);
  return isTold ? { type: 'text', text: describeAttachment(part) } : filePart(part);
}

/** The media types that are sent as files. The provider package decides whether its model accepts them. */
const nativeTypes =
  /^(?:image|audio|video|text)\/|^application\/(?:pdf|msword|vnd\.(?:ms-|oasis\.opendocument|openxmlformats))/;

export function filePart(part: Attachment): SentFile {
  const content = attachmentContent(part);
  if (content.type === 'file') throw fault('invalid_request', 'the SDK takes no provider files');
  return {
    type: 'file',
    mediaType: content.mimeType,
    data: content.type === 'url' ? urlData(content.url) : { type: 'data', data: content.data },
    ...(part.kind === 'file' ? { filename: part.name } : {}),
  };
}

export function urlData(text: string): SharedV4FileDataUrl {
  if (!URL.canParse(text)) throw fault('invalid_request', 'the URL of a file is invalid');
  return { type: 'url', url: new URL(text) };
}
