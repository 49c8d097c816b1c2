import { fromBase64 } from '@millrace/core';
import type { Attachment } from './content-of.ts';
import { readDataUrl } from './data-url.ts';
import { essenceOf } from './mime-type.ts';

const textual =
  /^text\/|[/+](?:x-)?(?:json|json5|jsonl|ndjson|xml|yaml|toml|javascript|ecmascript|typescript|sql|graphql|sh|shellscript|httpd-php|latex|tex)$/;

/** Says nothing of what is inside, or is what systems take files of programs for. */
const vague = /^$|^(?:application|binary)\/octet-stream$|^application\/x-|^video\/mp2t$/;

export function isTextual(mimeType: string): boolean {
  return textual.test(essenceOf(mimeType));
}

/** The text of a file of text, be it source or data; undefined for others, and where it is not at hand. */
export function attachedText(part: Attachment): string | undefined {
  const { mimeType } = part;
  const isText = isTextual(mimeType);
  if (!isText && !vague.test(essenceOf(mimeType))) return undefined;
  const bytes = bytesOf(part);
  if (bytes === undefined) return undefined;
  return isText ? decoded(bytes, mimeType) : strictText(bytes);
}

function bytesOf({ source }: Attachment): Uint8Array | undefined {
  if (source.type === 'bytes') return source.bytes;
  const inside = source.type === 'url' ? readDataUrl(source.url) : undefined;
  return inside === undefined ? undefined : fromBase64(inside.base64);
}

function decoded(bytes: Uint8Array, mimeType: string): string {
  const [, charset] = /;\s*charset="?([^\s";]+)/i.exec(mimeType) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    // Nobody knows a charset of that name.
    return new TextDecoder().decode(bytes);
  }
}

function strictText(bytes: Uint8Array): string | undefined {
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
