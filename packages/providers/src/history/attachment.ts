import { type FilePart, fromBase64, type MediaPart, toBase64 } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

/** What comes with a message: a picture, a sound, a document. */
export type Attachment = MediaPart | FilePart;

/** Where it is, as wires want it: in the request, or at an address. */
export type AttachmentContent =
  | { readonly type: 'base64'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'url'; readonly mimeType: string; readonly url: string };

export function attachmentContent({
  source,
  kind,
  mimeType: givenType,
}: Attachment): AttachmentContent {
  const mimeType = normalizedType(givenType);
  switch (source.type) {
    case 'bytes':
      return { type: 'base64', mimeType, data: toBase64(source.bytes) };
    case 'url': {
      const inside = readDataUrl(source.url);
      if (inside === undefined) return { type: 'url', mimeType, url: source.url };
      return { type: 'base64', mimeType: normalizedType(inside.mimeType), data: inside.base64 };
    }
    case 'blob':
      throw fault('invalid_request', `a ${kind} part is in a blob; load it before it is sent`);
  }
}

/** One address for both. */
export function contentUrl(content: AttachmentContent): string {
  return content.type === 'url' ? content.url : `data:${content.mimeType};base64,${content.data}`;
}

/** What a wire knows it by, without parameters; of nothing none, since that is refused as any. */
export function mediaTypeOf(content: AttachmentContent): string {
  const isEmpty = content.type === 'base64' && content.data === '';
  return isEmpty ? '' : essenceOf(content.mimeType);
}

interface DataUrl {
  readonly mimeType: string;
  readonly base64: string;
}

/** What is in an address that is its own content; undefined for one that points elsewhere. */
export function readDataUrl(url: string): DataUrl | undefined {
  const [, head, data] = /^data:([^,]*),(.*)$/is.exec(url) ?? [];
  if (head === undefined || data === undefined) return undefined;
  const [, mimeType = '', isBase64] = /^(.*?)(;base64)?$/i.exec(head) ?? [];
  const base64 = isBase64 === undefined ? base64OfText(data) : data;
  return base64 === undefined ? undefined : { mimeType: mimeType || 'text/plain', base64 };
}

/** Letters stand for themselves, all else for its bytes; what is neither is no data. */
function base64OfText(data: string): string | undefined {
  try {
    return toBase64(new TextEncoder().encode(decodeURIComponent(data)));
  } catch {
    return undefined;
  }
}

/** The type without its parameters, in small letters. */
function essenceOf(mimeType: string): string {
  return mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** As providers write it. Only the parameters of sound say anything that is not in the bytes. */
function normalizedType(mimeType: string): string {
  const essence = essenceOf(mimeType);
  if (essence.startsWith('audio/')) return mimeType;
  return essence === 'image/jpg' ? 'image/jpeg' : essence;
}

/** Longer ones are keys more than addresses. */
const maxAddressLength = 2000;

/**
 * In words, for a wire that does not take it as it is: a file of text is told with its name, anything
 * else is named. It stays in the history, where one that is refused would end the session.
 */
export function describeAttachment(part: Attachment): string {
  const text = attachmentText(part);
  return text === undefined ? nameOfAttachment(part) : textFileElement(part, text);
}

function textFileElement(part: Attachment, text: string): string {
  const name = part.kind === 'file' ? ` name=${quote(part.name)}` : '';
  return `<file${name} type=${quote(part.mimeType)}>\n${text}\n</file>`;
}

function nameOfAttachment(part: Attachment): string {
  const type = part.mimeType.toWellFormed();
  const what = part.kind === 'file' ? `${quote(part.name)} (${type})` : type;
  return `[An attachment cannot be shown: ${what}${addressNote(part)}]`;
}

/** A model may have a tool that reads from there. */
function addressNote({ source }: Attachment): string {
  if (source.type !== 'url' || source.url.length > maxAddressLength) return '';
  return /^https?:/i.test(source.url) ? `, at ${source.url.toWellFormed()}` : '';
}

function quote(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

const textTypes =
  /^text\/|[/+](?:x-)?(?:json|json5|jsonl|ndjson|xml|yaml|toml|javascript|ecmascript|typescript|sql|graphql|sh|shellscript|httpd-php|latex|tex)$/;

/** Says nothing of what is inside, or is what systems take files of programs for. */
const ambiguousTypes = /^$|^(?:application|binary)\/octet-stream$|^application\/x-|^video\/mp2t$/;

export function isTextType(mimeType: string): boolean {
  return textTypes.test(essenceOf(mimeType));
}

/** The text of a file of text, be it source or data; undefined for others, and where it is not at hand. */
export function attachmentText(part: Attachment): string | undefined {
  const { mimeType } = part;
  const isText = isTextType(mimeType);
  if (!isText && !ambiguousTypes.test(essenceOf(mimeType))) return undefined;
  const bytes = attachmentBytes(part);
  if (bytes === undefined) return undefined;
  return isText ? decodeText(bytes, mimeType) : decodeUtf8OrNothing(bytes);
}

function attachmentBytes({ source }: Attachment): Uint8Array | undefined {
  if (source.type === 'bytes') return source.bytes;
  const inside = source.type === 'url' ? readDataUrl(source.url) : undefined;
  return inside === undefined ? undefined : fromBase64(inside.base64);
}

function decodeText(bytes: Uint8Array, mimeType: string): string {
  const [, charset] = /;\s*charset="?([^\s";]+)/i.exec(mimeType) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    // Nobody knows a charset of that name.
    return new TextDecoder().decode(bytes);
  }
}

function decodeUtf8OrNothing(bytes: Uint8Array): string | undefined {
  if (bytes.some(isControl)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Other than tabs, ends of lines and pages, and the escape of coloured output. */
function isControl(byte: number): boolean {
  return byte < 9 || (byte > 13 && byte < 32 && byte !== 27);
}
