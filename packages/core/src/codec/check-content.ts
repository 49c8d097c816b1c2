import { checkJson } from '../json/check-json.ts';
import type { Limits } from '../limits.ts';
import type { Part } from '../protocol/part.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import { isBytes } from './decoder.ts';
import { encodedLength, roomAroundParts } from './encoded-length.ts';

/** Why a part cannot be taken as it is: no reader would take it, or what it would be part of. */
export function refusePart(part: Part, limits: Limits): Refusal | undefined {
  const refusal = refuseFields(part, limits) ?? refuseAttachments(part, limits);
  if (refusal !== undefined) return refusal;
  const length = encodedLength(part) + roomAroundParts;
  return length > limits.maxDocumentLength ? 'too_large' : undefined;
}

function refuseFields(part: Part, limits: Limits): Refusal | undefined {
  if (textOf(part).length > limits.maxTextLength) return 'too_large';
  if (!textOf(part).isWellFormed()) return 'lone_surrogate';
  const { metadata, providerState } = part;
  return (
    refuseNames(part, limits) ??
    refuseNames(providerState ?? {}, limits) ??
    refuseSource(part, limits) ??
    refuseJson([metadata, providerState?.data, jsonOf(part)], limits)
  );
}

function refuseSource(part: Part, limits: Limits): Refusal | undefined {
  if (!('source' in part)) return undefined;
  const { source } = part;
  switch (source.type) {
    case 'bytes':
      if (!isBytes(source.bytes)) return 'bad_value';
      return source.bytes.length > limits.maxBytesLength ? 'too_large' : undefined;
    case 'url':
      return source.url.length > limits.maxTextLength ? 'too_large' : undefined;
    case 'blob':
      return refuseNames(source, limits);
  }
}

function refuseAttachments(part: Part, limits: Limits): Refusal | undefined {
  const attachments = part.kind === 'tool_result' ? (part.attachments ?? []) : [];
  for (const attachment of attachments) {
    const refusal = refuseFields(attachment, limits);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** Names, reasons, signatures: short texts, which no reader should have to bound one by one. */
export function refuseNames(fields: object, { maxNameLength }: Limits): Refusal | undefined {
  const named = ['name', 'mimeType', 'reason', 'signature', 'provider', 'model', 'hash'] as const;
  const texts: { readonly [name: string]: unknown } = { ...fields };
  const isLong = (text: unknown) => typeof text === 'string' && text.length > maxNameLength;
  return named.some((name) => isLong(texts[name])) ? 'too_large' : undefined;
}

export function refuseJson(values: readonly unknown[], limits: Limits): Refusal | undefined {
  for (const value of values) {
    const problem = value === undefined ? undefined : checkJson(value, limits);
    if (problem !== undefined) return problem.code;
  }
  return undefined;
}

export function refuseChunk(
  chunk: string | Uint8Array,
  medium: 'text' | 'bytes',
  length: number,
  limits: Limits,
): Refusal | undefined {
  const isText = medium === 'text';
  if (isText ? typeof chunk !== 'string' : !isBytes(chunk)) return 'bad_value';
  const max = isText ? limits.maxTextLength : limits.maxBytesLength;
  const fits = chunk.length <= limits.maxChunkLength && length + chunk.length <= max;
  return fits ? undefined : 'too_large';
}

/** The text that streams, or would have, into a part of its kind. */
function textOf(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'tool_call':
      return part.arguments;
    case 'structured':
    case 'media':
    case 'file':
    case 'custom':
      return '';
  }
}

function jsonOf(part: Part): unknown {
  return 'value' in part ? part.value : undefined;
}

/** The part with half pairs in its text replaced, as a stream would have done. */
export function wellFormedPart(part: Part): Part {
  switch (part.kind) {
    case 'text':
    case 'tool_result':
    case 'reasoning':
      return part.text.isWellFormed() ? part : { ...part, text: part.text.toWellFormed() };
    case 'tool_call':
      if (part.arguments.isWellFormed()) return part;
      return { ...part, arguments: part.arguments.toWellFormed() };
    case 'structured':
    case 'media':
    case 'file':
    case 'custom':
      return part;
  }
}
