import type {
  BeginPart,
  CommitBuilt,
  ItemId,
  JsonObject,
  JsonValue,
  Part,
  Source,
  ToolCallId,
} from '@millrace/core';

/** A piece of a text or of bytes, and the record that appended it. */
export interface Piece {
  readonly offset: number;
  readonly type: string;
  readonly chunk: string | Uint8Array;
}

/** A record that is named in a difference. */
export interface RecordPlace {
  readonly offset: number;
  readonly type: string;
}

/**
 * The content of one part, with the records that it came from. It has only the fields that two runs can have
 * in common. It has no ids, no metadata, no signatures and no provider state.
 */
export interface PartContent {
  readonly itemId: ItemId;
  readonly attempt: number;
  /** The record that introduced the part. */
  first: RecordPlace;
  /** The fields that are known at the start: kind, name, form, media type. */
  head: JsonObject;
  toolCallId: ToolCallId | undefined;
  /** The text or the bytes. */
  pieces: Piece[];
  /** The streamed text that the commit replaced: the progress of a tool. Undefined if it replaced none. */
  replaced: readonly Piece[] | undefined;
  /** The value of a structured or custom part, the value of a tool result, the address of media. */
  value: (RecordPlace & { readonly value: JsonValue }) | undefined;
  /** The commit. Undefined if the part is open, or was retracted before a commit. */
  end: (RecordPlace & { readonly state: 'whole' | 'partial' }) | undefined;
  retracted: RecordPlace | undefined;
}

/** Returns the content of a part that begins to stream. */
export function streamedContent(
  begin: BeginPart,
  attempt: number,
  first: RecordPlace,
): PartContent {
  const { itemId } = begin;
  const toolCallId = 'toolCallId' in begin ? begin.toolCallId : undefined;
  const head = headOf(begin);
  return {
    ...{ itemId, attempt, first, head, toolCallId, pieces: [] },
    ...{ replaced: undefined, value: undefined, end: undefined, retracted: undefined },
  };
}

/** Returns the content of a part that arrived whole. */
export function wholeContent(
  part: Part,
  itemId: ItemId,
  attempt: number,
  place: RecordPlace,
): PartContent {
  const value = partValue(part);
  const chunk = chunkOf(part);
  return {
    ...{ itemId, attempt, first: place, head: headOf(part) },
    toolCallId: 'toolCallId' in part ? part.toolCallId : undefined,
    pieces: chunk === undefined || chunk.length === 0 ? [] : [{ ...place, chunk }],
    replaced: undefined,
    value: value === undefined ? undefined : { ...place, value },
    end: { ...place, state: part.partial ? 'partial' : 'whole' },
    retracted: undefined,
  };
}

/** Ends a streamed part. */
export function commitStreamed(
  content: PartContent,
  commit: CommitBuilt,
  place: RecordPlace,
): void {
  if (content.head['kind'] === 'tool_result')
    content.value ??= { ...place, value: { isError: false } };
  content.end = { ...place, state: commit.partial ? 'partial' : 'whole' };
}

/** Returns the length of a text, or the number of bytes. */
export function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { chunk }) => sum + chunk.length, 0);
}

function headOf(part: Part | BeginPart): JsonObject {
  const { kind } = part;
  switch (part.kind) {
    case 'reasoning':
      return { kind, form: part.form };
    case 'tool_call':
    case 'tool_result':
    case 'custom':
      return { kind, name: part.name };
    case 'file':
      return { kind, name: part.name, mimeType: part.mimeType };
    case 'media':
      return { kind, mimeType: part.mimeType };
    case 'text':
      return part.mimeType === undefined ? { kind } : { kind, mimeType: part.mimeType };
    case 'structured':
      return part.name === undefined ? { kind } : { kind, name: part.name };
  }
}

function chunkOf(part: Part): string | Uint8Array | undefined {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'tool_call':
      return part.arguments;
    case 'media':
    case 'file':
      return part.source.type === 'bytes' ? part.source.bytes : undefined;
    case 'structured':
    case 'custom':
      return undefined;
  }
}

function partValue(part: Part): JsonValue | undefined {
  switch (part.kind) {
    case 'structured':
    case 'custom':
      return part.value;
    case 'media':
    case 'file':
      return part.source.type === 'bytes' ? undefined : addressOf(part.source);
    case 'tool_result': {
      const { isError, value, attachments } = part;
      return {
        isError,
        ...(value !== undefined && { value }),
        ...(attachments !== undefined && {
          attachments: attachments.map((one) => ({ ...headOf(one), ...addressOf(one.source) })),
        }),
      };
    }
    case 'text':
    case 'reasoning':
    case 'tool_call':
      return undefined;
  }
}

/** Returns what identifies the bytes of an attachment. */
function addressOf(source: Source): JsonObject {
  switch (source.type) {
    case 'blob':
      return { hash: source.hash };
    case 'url':
      return { url: source.url };
    case 'provider_file':
      return { provider: source.provider };
    case 'bytes':
      return { checksum: checksumOf(source.bytes) };
  }
}

/** Returns a number that differs for most different bytes (FNV-1a). Only attachments of results need it. */
function checksumOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
