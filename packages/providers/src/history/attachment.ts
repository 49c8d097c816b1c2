import {
  type FilePart,
  fromBase64,
  type JsonObject,
  type MediaPart,
  toBase64,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

/** An image, an audio file, a video or a document in a message. */
export type Attachment = (MediaPart | FilePart) & {
  /** Additional fields in the provider's format, which are merged into this content. Default: none. */
  readonly options?: JsonObject | undefined;
};

/**
 * The content of an attachment. It is inside the request, at a URL, or in a file that the provider stores.
 */
export type AttachmentContent =
  | { readonly type: 'base64'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'url'; readonly mimeType: string; readonly url: string }
  | { readonly type: 'file'; readonly mimeType: string; readonly id: string };

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
    case 'provider_file':
      return { type: 'file', mimeType, id: source.id };
    case 'blob':
      throw fault('invalid_request', `a ${kind} part is in a blob; load it before it is sent`);
  }
}

/** Returns the URL of the content. For content inside the request, it returns a data URL. */
export function contentUrl(content: Exclude<AttachmentContent, { readonly type: 'file' }>): string {
  return content.type === 'url' ? content.url : `data:${content.mimeType};base64,${content.data}`;
}

/**
 * Returns the media type without parameters. Returns '' for empty content, because providers reject
 * empty files of any type.
 */
export function mediaTypeOf(content: AttachmentContent): string {
  const isEmpty = content.type === 'base64' && content.data === '';
  return isEmpty ? '' : essenceOf(content.mimeType);
}

interface DataUrl {
  readonly mimeType: string;
  readonly base64: string;
}

/** Reads the content of a data URL. Returns undefined for any other URL. */
export function readDataUrl(url: string): DataUrl | undefined {
  const [, head, data] = /^data:([^,]*),(.*)$/is.exec(url) ?? [];
  if (head === undefined || data === undefined) return undefined;
  const [, mimeType = '', isBase64] = /^(.*?)(;base64)?$/i.exec(head) ?? [];
  const base64 = isBase64 === undefined ? base64OfText(data) : data;
  return base64 === undefined ? undefined : { mimeType: mimeType || 'text/plain', base64 };
}

/**
 * Decodes percent escapes and encodes the text as base64. Returns undefined if the escapes are
 * invalid.
 */
function base64OfText(data: string): string | undefined {
  try {
    return toBase64(new TextEncoder().encode(decodeURIComponent(data)));
  } catch {
    return undefined;
  }
}

/** Returns the media type without its parameters, in lower case. */
function essenceOf(mimeType: string): string {
  return mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * Returns the media type in the form that providers expect. Only audio types keep their parameters.
 */
export function normalizedType(mimeType: string): string {
  const essence = essenceOf(mimeType);
  if (essence.startsWith('audio/')) return mimeType;
  return essence === 'image/jpg' ? 'image/jpeg' : essence;
}

/** Maximum length of a URL that is shown to the model. A longer URL is probably signed and contains a key. */
const maxAddressLength = 2000;

/**
 * Describes an attachment as text, for a provider that does not accept its type. The text contains the
 * content of a text file, and only the name of any other file. If a rejected attachment were sent, this
 * request and every later request of the session would fail.
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

/** Returns a note with the URL of an attachment. The model may have a tool that reads from this URL. */
function addressNote({ source }: Attachment): string {
  if (source.type !== 'url' || source.url.length > maxAddressLength) return '';
  return /^https?:/i.test(source.url) ? `, at ${source.url.toWellFormed()}` : '';
}

function quote(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

const textTypes =
  /^text\/|[/+](?:x-)?(?:json|json5|jsonl|ndjson|xml|yaml|toml|javascript|ecmascript|typescript|sql|graphql|sh|shellscript|httpd-php|latex|tex)$/;

/**
 * Matches types that do not describe the content, and types that operating systems wrongly assign to source
 * files.
 */
const ambiguousTypes = /^$|^(?:application|binary)\/octet-stream$|^application\/x-|^video\/mp2t$/;

export function isTextType(mimeType: string): boolean {
  return textTypes.test(essenceOf(mimeType));
}

/**
 * Returns the text of a text file, source code or data. Returns undefined for other files, and if
 * the bytes are not inside the request.
 */
export function attachmentText(part: Attachment): string | undefined {
  const { mimeType } = part;
  const isText = isTextType(mimeType);
  if (!isText && !ambiguousTypes.test(essenceOf(mimeType))) return undefined;
  const bytes = attachmentBytes(part);
  if (bytes === undefined) return undefined;
  return isText ? decodeText(bytes, mimeType) : decodeUtf8OrNothing(bytes);
}

/** Returns the bytes of an attachment. Returns undefined if they are not inside the request. */
export function attachmentBytes({ source }: Attachment): Uint8Array | undefined {
  if (source.type === 'bytes') return source.bytes;
  const inside = source.type === 'url' ? readDataUrl(source.url) : undefined;
  return inside === undefined ? undefined : fromBase64(inside.base64);
}

/** Matches common types that say nothing besides the format. */
const plainTypes =
  /^(?:image\/(?:\*|png|jpe?g|gif|webp)|audio\/(?:mpeg|mp3|mp4|wav|x-wav|ogg|webm|flac|aac)|video\/(?:mp4|webm|quicktime)|application\/pdf)$/;

/**
 * Returns everything that a model can read of an attachment as text, for checks of its content. It is the
 * content of a text file, even if its type is wrong, and the name and the URL of any other file. If the bytes
 * have different meanings in different encodings, the text contains all of them. Load blobs before the call.
 */
export function textOfAttachment(part: MediaPart | FilePart): string {
  const bytes = attachmentBytes(part);
  const readings = bytes === undefined ? [] : [attachmentText(part), ...otherReadings(bytes)];
  const texts = new Set(readings.filter((text) => text !== undefined && text !== ''));
  const { source, mimeType } = part;
  const name = part.kind === 'file' ? part.name : '';
  if (texts.size > 0) {
    // Some providers send the name and the type without escapes.
    const escaped = [name, mimeType].filter((one) => quote(one) !== `"${one}"`);
    return [...[...texts].map((text) => textFileElement(part, text ?? '')), ...escaped].join('\n');
  }
  const type = plainTypes.test(mimeType.toLowerCase()) ? '' : mimeType;
  const url = source.type === 'url' && bytes === undefined ? source.url : '';
  return [name, type, url].filter((text) => text !== '').join(' ');
}

/** Returns the texts that a program can read from the bytes if it ignores the type of the file. */
function otherReadings(bytes: Uint8Array): readonly (string | undefined)[] {
  const mark = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  const wide = mark === 0xff_fe ? 'utf-16le' : mark === 0xfe_ff ? 'utf-16be' : undefined;
  return [
    decodeUtf8OrNothing(bytes),
    ...(wide === undefined ? [] : [new TextDecoder(wide).decode(bytes)]),
  ];
}

function decodeText(bytes: Uint8Array, mimeType: string): string {
  const [, charset] = /;\s*charset="?([^\s";]+)/i.exec(mimeType) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    // `TextDecoder` does not support the charset, so UTF-8 is used.
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

/**
 * Returns whether a byte is a control character that text files do not contain. Tabs, line ends, form feeds
 * and the escape character of colored output are allowed.
 */
function isControl(byte: number): boolean {
  return byte < 9 || (byte > 13 && byte < 32 && byte !== 27);
}
