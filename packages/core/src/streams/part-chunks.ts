import { toBase64 } from '../codec/base64.ts';
import { type FoldState, findOpen, type ItemState, type PartSlot } from '../fold/fold-state.ts';
import type { OpenPart } from '../fold/open-part.ts';
import { toArray } from '../fold/sequence.ts';
import type { PartId, ToolCallId } from '../ids.ts';
import type { FilePart, MediaPart, Part, ToolCallPart, ToolResultPart } from '../protocol/part.ts';
import type { UiChunk } from './ui-chunk.ts';

/** Returns all chunks of a part, with its current content. */
export function slotChunks(state: FoldState, { id, part }: PartSlot): readonly UiChunk[] {
  if (part !== undefined) return wholeChunks(state, id, part);
  const open = findOpen(state, id);
  return open === undefined ? [] : [...beginChunks(open), ...textChunks(open, open.text)];
}

/** Returns how a part streams. Undefined if the part is sent only when complete. */
export function streamKind({ begin }: OpenPart): 'text' | 'reasoning' | 'call' | undefined {
  switch (begin.kind) {
    case 'text':
      // JSON is sent as a value, which is known only at the end of the part.
      return begin.mimeType === 'application/json' ? undefined : 'text';
    case 'reasoning':
      return 'reasoning';
    case 'tool_call':
      return 'call';
    default:
      return undefined;
  }
}

export function beginChunks(open: OpenPart): readonly UiChunk[] {
  const { id, begin } = open;
  const kind = streamKind(open);
  if (begin.kind === 'tool_call') return [toolInputStart(begin)];
  return kind === 'text' || kind === 'reasoning' ? [{ type: `${kind}-start`, id }] : [];
}

function toolInputStart({ toolCallId, name }: Pick<ToolCallPart, 'toolCallId' | 'name'>): UiChunk {
  return { type: 'tool-input-start', toolCallId, toolName: name };
}

/**
 * Returns the chunks for appended text. The progress of a tool has no chunks, because the result of the tool
 * replaces it.
 */
export function textChunks(open: OpenPart, text: string): readonly UiChunk[] {
  const { id, begin } = open;
  const kind = streamKind(open);
  if (text === '') return [];
  if (begin.kind === 'tool_call') {
    return [{ type: 'tool-input-delta', toolCallId: begin.toolCallId, inputTextDelta: text }];
  }
  return kind === 'text' || kind === 'reasoning'
    ? [{ type: `${kind}-delta`, id, delta: text }]
    : [];
}

/** Returns the chunks of a complete part. */
export function wholeChunks(state: FoldState, id: PartId, part: Part): readonly UiChunk[] {
  switch (part.kind) {
    case 'text':
    case 'reasoning': {
      const { kind, text } = part;
      const delta: readonly UiChunk[] =
        text === '' ? [] : [{ type: `${kind}-delta`, id, delta: text }];
      return [{ type: `${kind}-start`, id }, ...delta, { type: `${kind}-end`, id }];
    }
    case 'tool_call':
      return [toolInputStart(part), toolInputEnd(withInputOfClient(state, part))];
    case 'tool_result':
      return resultChunks(state, id, part);
    case 'structured':
      return [{ type: `data-${part.name ?? 'structured'}`, id, data: part.value }];
    case 'custom':
      return [{ type: 'data-custom', id, data: { name: part.name, value: part.value } }];
    case 'media':
    case 'file':
      return [fileChunk(id, part)];
  }
}

/**
 * Returns the call with the input that the client must use. The user or a guardrail may have changed the
 * model's input.
 */
function withInputOfClient({ awaited }: FoldState, part: ToolCallPart): ToolCallPart {
  const input = awaited.find(({ toolCallId }) => toolCallId === part.toolCallId)?.input;
  return input === undefined ? part : { ...part, input };
}

export function toolInputEnd({ toolCallId, name, input, arguments: text }: ToolCallPart): UiChunk {
  const call = { toolCallId, toolName: name };
  if (input !== undefined) return { type: 'tool-input-available', ...call, input };
  const errorText = 'The arguments are not JSON, or were cut off';
  return { type: 'tool-input-error', ...call, input: text, errorText };
}

/**
 * Returns the chunks of a tool result. Clients reject a result without its call, so the call is
 * sent too if the message does not contain it.
 */
function resultChunks(state: FoldState, id: PartId, part: ToolResultPart): readonly UiChunk[] {
  const { toolCallId, name, text, value, isError } = part;
  const result: UiChunk = isError
    ? { type: 'tool-output-error', toolCallId, errorText: text }
    : { type: 'tool-output-available', toolCallId, output: value === undefined ? text : value };
  const shown = [result, ...attachmentChunks(id, part)];
  if (hasCall(state, toolCallId)) return shown;
  const input = findCall(state, toolCallId)?.input ?? {};
  return [{ type: 'tool-input-available', toolCallId, toolName: name, input }, ...shown];
}

/**
 * Returns the chunks of pictures and other files of a result. A tool part of the AI SDK cannot contain files,
 * so they become parts of the message. Text files have no chunk, because the result has their text.
 */
function attachmentChunks(id: PartId, { attachments = [] }: ToolResultPart): readonly UiChunk[] {
  const shown = attachments.filter(
    ({ kind, mimeType }) => kind === 'media' || !/^text\//.test(mimeType),
  );
  return shown.map((attachment, at) => fileChunk(`${id}.${at}`, attachment));
}

function fileChunk(id: string, part: MediaPart | FilePart): UiChunk {
  const { source, mimeType: mediaType } = part;
  switch (source.type) {
    case 'bytes': {
      const url = `data:${mediaType};base64,${toBase64(source.bytes)}`;
      return { type: 'file', url, mediaType };
    }
    case 'url':
      return { type: 'file', url: source.url, mediaType };
    case 'blob': {
      const name = part.kind === 'file' ? { name: part.name } : {};
      const blob = { blob: source.hash, length: source.length };
      return { type: 'data-file', id, data: { ...name, mediaType, ...blob } };
    }
    case 'provider_file': {
      const name = part.kind === 'file' ? { name: part.name } : {};
      const file = { provider: source.provider, fileId: source.id };
      return { type: 'data-file', id, data: { ...name, mediaType, ...file } };
    }
  }
}

/** Caches the items of each run. Restating a session reads them once per run and once per result. */
const itemsByRun = new WeakMap<FoldState['items'], ReadonlyMap<unknown, readonly ItemState[]>>();

/** Returns the items of the current run, in order. */
export function itemsOfRun({ items, run }: FoldState): readonly ItemState[] {
  if (run === undefined) return [];
  let byRun = itemsByRun.get(items);
  if (byRun === undefined) {
    byRun = Map.groupBy(toArray(items), (item) => item.run);
    itemsByRun.set(items, byRun);
  }
  return byRun.get(run) ?? [];
}

/** Returns whether the current message contains the call. */
export function hasCall(state: FoldState, id: ToolCallId): boolean {
  return itemsOfRun(state).some(({ parts }) =>
    parts.some((slot) => {
      const { part } = slot;
      if (part !== undefined) return part.kind === 'tool_call' && part.toolCallId === id;
      const begin = findOpen(state, slot.id)?.begin;
      return begin?.kind === 'tool_call' && begin.toolCallId === id;
    }),
  );
}

/** Returns the call with this id from any run, or undefined. */
function findCall(state: FoldState, id: ToolCallId): ToolCallPart | undefined {
  for (const { parts } of toArray(state.items).toReversed()) {
    for (const { part } of parts) {
      if (part?.kind === 'tool_call' && part.toolCallId === id) return part;
    }
  }
  return undefined;
}
