import type {
  LanguageModelV4FilePart,
  SharedV4FileDataData,
  SharedV4FileDataUrl,
} from '@ai-sdk/provider';
import type { FilePart, MediaPart } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { contentOf } from '../history/content-of.ts';

/** The kinds of data that we send; the SDK has more. */
export type SentData = SharedV4FileDataData | SharedV4FileDataUrl;

export interface SentFile extends LanguageModelV4FilePart {
  data: SentData;
}

export function filePart(part: MediaPart | FilePart): SentFile {
  const content = contentOf(part);
  return {
    type: 'file',
    mediaType: part.mimeType,
    data: content.type === 'url' ? urlData(content.url) : { type: 'data', data: content.data },
    ...(part.kind === 'file' ? { filename: part.name } : {}),
  };
}

export function urlData(text: string): SharedV4FileDataUrl {
  if (!URL.canParse(text)) throw fault('invalid_request', 'the address of a file is none');
  return { type: 'url', url: new URL(text) };
}
