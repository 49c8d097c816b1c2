import {
  type FilePart,
  type FoldState,
  findOpen,
  type ItemState,
  type MediaPart,
  type OpenPart,
  type Part,
  type PartId,
  type PartSlot,
  type ToolCallId,
  type ToolCallPart,
  type ToolResultPart,
  toArray,
  toBase64,
} from '@millrace/core';
import { jsonType } from '../updates/content-parts.ts';
import type { UiChunk } from './ui-chunk.ts';

/** All that is to be said of a part as it is right now. */
export function slotChunks(state: FoldState, { id, part }: PartSlot): readonly UiChunk[] {
  if (part !== undefined) return wholeChunks(state, id, part);
  const open = findOpen(state, id);
  return open === undefined ? [] : [...beginChunks(open), ...textChunks(open, open.text)];
}

/** The words under which a part streams; none where it is said at its end only. */
export function streamKind({ begin }: OpenPart): 'text' | 'reasoning' | 'call' | undefined {
  switch (begin.kind) {
    case 'text':
      // JSON is shown as the value it means, which is known at its end.
      return begin.mimeType === jsonType ? undefined : 'text';
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
  const as = streamKind(open);
  if (begin.kind === 'tool_call') return [toolInputStart(begin)];
  return as === 'text' || as === 'reasoning' ? [{ type: `${as}-start`, id }] : [];
}

function toolInputStart({ toolCallId, name }: Pick<ToolCallPart, 'toolCallId' | 'name'>): UiChunk {
  return { type: 'tool-input-start', toolCallId, toolName: name };
}

/** A stretch of what streams. A tool's progress is not kept: its result comes instead of it. */
export function textChunks(open: OpenPart, text: string): readonly UiChunk[] {
  const { id, begin } = open;
  const as = streamKind(open);
  if (text === '') return [];
  if (begin.kind === 'tool_call') {
    return [{ type: 'tool-input-delta', toolCallId: begin.toolCallId, inputTextDelta: text }];
  }
  return as === 'text' || as === 'reasoning' ? [{ type: `${as}-delta`, id, delta: text }] : [];
}

export function wholeChunks(state: FoldState, id: PartId, part: Part): readonly UiChunk[] {
  switch (part.kind) {
    case 'text':
    case 'reasoning': {
      const { kind, text } = part;
      const said: readonly UiChunk[] =
        text === '' ? [] : [{ type: `${kind}-delta`, id, delta: text }];
      return [{ type: `${kind}-start`, id }, ...said, { type: `${kind}-end`, id }];
    }
    case 'tool_call':
      return [toolInputStart(part), toolInputEnd(part)];
    case 'tool_result':
      return resultChunks(state, part);
    case 'structured':
      return [{ type: `data-${part.name ?? 'structured'}`, id, data: part.value }];
    case 'custom':
      return [{ type: 'data-custom', id, data: { name: part.name, value: part.value } }];
    case 'media':
    case 'file':
      return [fileChunk(id, part)];
  }
}

export function toolInputEnd({ toolCallId, name, input, arguments: text }: ToolCallPart): UiChunk {
  const call = { toolCallId, toolName: name };
  if (input !== undefined) return { type: 'tool-input-available', ...call, input };
  const errorText = 'The arguments are not JSON, or were cut off';
  return { type: 'tool-input-error', ...call, input: text, errorText };
}

/** A client refuses a result of a call that its message does not have, so it gets both. */
function resultChunks(state: FoldState, part: ToolResultPart): readonly UiChunk[] {
  const { toolCallId, name, text, value, isError } = part;
  const result: UiChunk = isError
    ? { type: 'tool-output-error', toolCallId, errorText: text }
    : { type: 'tool-output-available', toolCallId, output: value === undefined ? text : value };
  if (hasCall(state, toolCallId)) return [result];
  const input = findCall(state, toolCallId)?.input ?? {};
  return [{ type: 'tool-input-available', toolCallId, toolName: name, input }, result];
}

function fileChunk(id: PartId, part: MediaPart | FilePart): UiChunk {
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
  }
}

/** The items of the run that goes on, in order. */
export function itemsOfRun({ items, run }: FoldState): readonly ItemState[] {
  return run === undefined ? [] : toArray(items).filter((item) => item.run === run);
}

/** Is the call in the message that streams now? */
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

/** The call, of whichever run. */
function findCall(state: FoldState, id: ToolCallId): ToolCallPart | undefined {
  for (const { parts } of toArray(state.items).toReversed()) {
    for (const { part } of parts) {
      if (part?.kind === 'tool_call' && part.toolCallId === id) return part;
    }
  }
  return undefined;
}
