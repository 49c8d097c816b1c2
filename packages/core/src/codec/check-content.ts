import type { ContentLimits } from '../limits.ts';
import type { Part } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { isBytes } from './decoder.ts';
import { encodedLength, roomAroundParts } from './encode.ts';

// Checks the content of a part that a writer creates. Readers do not use this check, so they also accept
// content that fails it.

export function refusePart(part: Part, limits: ContentLimits): Refusal | undefined {
  if (!textOf(part).isWellFormed()) return 'lone_surrogate';
  const length = encodedLength(part) + roomAroundParts;
  if (length > limits.maxDocumentLength) return 'too_large';
  return refuseAllNames(part, limits);
}

function refuseAllNames(part: Part, limits: ContentLimits): Refusal | undefined {
  const attachments = part.kind === 'tool_result' ? (part.attachments ?? []) : [];
  const named = [part, ...attachments].flatMap((one) => [one, one.providerState, sourceOf(one)]);
  for (const fields of named) {
    const refusal = fields === undefined ? undefined : refuseNames(fields, limits);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/**
 * Limits the length of short texts: names, reasons and signatures. Because of this check, the decoders of
 * these fields need no limit of their own.
 */
export function refuseNames(fields: object, { maxNameLength }: ContentLimits): Refusal | undefined {
  const named = ['name', 'mimeType', 'reason', 'signature', 'provider', 'model', 'hash'] as const;
  const texts: { readonly [name: string]: unknown } = { ...fields };
  const isLong = (text: unknown) => typeof text === 'string' && text.length > maxNameLength;
  return named.some((name) => isLong(texts[name])) ? 'too_large' : undefined;
}

export function refuseChunk(
  chunk: string | Uint8Array,
  medium: 'text' | 'bytes',
  length: number,
  limits: ContentLimits,
): Refusal | undefined {
  const isText = medium === 'text';
  if (isText ? typeof chunk !== 'string' : !isBytes(chunk)) return 'bad_value';
  const max = isText ? limits.maxTextLength : limits.maxBytesLength;
  const fits = chunk.length <= limits.maxChunkLength && length + chunk.length <= max;
  return fits ? undefined : 'too_large';
}

/** Returns the text of a part: its `arguments` or its `text`, or '' for a part without text. */
function textOf(part: Part): string {
  if (part.kind === 'tool_call') return part.arguments;
  return 'text' in part ? part.text : '';
}

function sourceOf(part: Part): object | undefined {
  return 'source' in part ? part.source : undefined;
}

/**
 * Returns the part with each lone surrogate in its text replaced by U+FFFD. Streamed text gets the same
 * replacement.
 */
export function wellFormedPart(part: Part): Part {
  if (textOf(part).isWellFormed()) return part;
  const text = textOf(part).toWellFormed();
  if (part.kind === 'tool_call') return { ...part, arguments: text };
  return 'text' in part ? { ...part, text } : part;
}
