import type { JsonValue } from '@millrace/core';
import type { UiChunk } from '@millrace/core/streams';

/** A part of a message in the AI SDK's format. */
type UiPart = Readonly<Record<string, JsonValue>> & { readonly type: string };

/** A message in the AI SDK's format, for `useChat({ messages })`. */
export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: readonly UiPart[];
}

/** Builds the parts of a message from its chunks, in the same way as the AI SDK's client. */
export function partsOfChunks(chunks: readonly UiChunk[]): readonly UiPart[] {
  const parts: UiPart[] = [];
  for (const chunk of chunks) {
    const newPart = partOf(chunk);
    const at = changedPartIndex(parts, chunk);
    const last = parts[at];
    if (newPart !== undefined) parts.push(newPart);
    else if (last !== undefined) parts[at] = { ...last, ...changesOf(chunk, last) };
  }
  return parts;
}

function partOf(chunk: UiChunk): UiPart | undefined {
  switch (chunk.type) {
    case 'start-step':
      return { type: 'step-start' };
    case 'text-start':
      return { type: 'text', text: '', state: 'streaming' };
    case 'reasoning-start':
      return { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' };
    case 'tool-input-start': {
      const { toolName, toolCallId } = chunk;
      return { type: `tool-${toolName}`, toolCallId, state: 'input-streaming' };
    }
    case 'file':
      return { ...chunk };
    case 'steering-message': {
      const { type, id, parts } = chunk;
      return { type, id, parts: parts.map((part) => ({ ...part })) };
    }
    default:
      return 'data' in chunk
        ? { type: chunk.type, id: chunk.id ?? '', data: chunk.data }
        : undefined;
  }
}

/**
 * Returns the index of the part that a chunk changes. It is the part with the same tool call id, or else
 * the last part.
 */
function changedPartIndex(parts: readonly UiPart[], chunk: UiChunk): number {
  if (!('toolCallId' in chunk)) return parts.length - 1;
  return parts.findLastIndex(({ toolCallId }) => toolCallId === chunk.toolCallId);
}

function changesOf(chunk: UiChunk, last: UiPart): Readonly<Record<string, JsonValue>> {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return { text: `${last['text']}${chunk.delta}` };
    case 'text-end':
    case 'reasoning-end':
      return { state: 'done' };
    case 'tool-input-available':
      return { state: 'input-available', input: chunk.input };
    case 'tool-input-error':
      return { state: 'output-error', input: chunk.input, errorText: chunk.errorText };
    case 'tool-output-available':
      return { state: 'output-available', output: chunk.output };
    case 'tool-output-error':
      return { state: 'output-error', errorText: chunk.errorText };
    case 'tool-approval-request': {
      const why = chunk.reason === undefined ? {} : { requestReason: chunk.reason };
      return { state: 'approval-requested', approval: { id: chunk.approvalId, ...why } };
    }
    default:
      return {};
  }
}
