import type { FoldState, OpenPart, Part } from '@millrace/core';
import type { TaskMessage, Update, UpdateDelta } from '../contract/message.ts';
import { jsonType, parseObject, styleOf } from './content-parts.ts';
import { type LoggedMessage, reasoningForm } from './logged-message.ts';
import { messageIndex } from './message-index.ts';
import { isJson, startRow } from './task-messages.ts';

/**
 * Returns the delta update for new text of a message. Parts with bytes or structured values have no delta
 * updates. They are sent completely when the part ends.
 */
export function deltaUpdates(
  state: FoldState,
  message: LoggedMessage,
  open: OpenPart,
  piece: string,
): readonly Update[] {
  const delta = deltaFor(state, message, open, piece);
  if (delta === undefined) return [];
  const head = {
    index: messageIndex(state, message),
    parent_task_message: startRow(state, message),
  };
  return [{ type: 'delta', ...head, delta }];
}

/** Returns an empty delta. It follows a full update, if the message continues to stream. */
export function reopenUpdate(state: FoldState, message: LoggedMessage, open: OpenPart): Update {
  const head = {
    index: messageIndex(state, message),
    parent_task_message: startRow(state, message),
  };
  return { type: 'delta', ...head, delta: deltaFor(state, message, open, '') ?? null };
}

function deltaFor(
  state: FoldState,
  message: LoggedMessage,
  open: OpenPart,
  piece: string,
): UpdateDelta | undefined {
  const { begin } = open;
  switch (begin.kind) {
    case 'text':
      return isJson(open)
        ? { type: 'data', data_delta: piece }
        : { type: 'text', text_delta: piece };
    case 'tool_call': {
      const call = { tool_call_id: begin.toolCallId, name: begin.name };
      return { type: 'tool_request', ...call, arguments_delta: piece };
    }
    case 'tool_result': {
      const call = { tool_call_id: begin.toolCallId, name: begin.name };
      return { type: 'tool_response', ...call, content_delta: piece };
    }
    case 'reasoning':
      return reasoningDelta(begin.form, entryIndex(state, message, open), piece);
    default:
      return undefined;
  }
}

function reasoningDelta(form: string, entry: number, piece: string): UpdateDelta | undefined {
  if (form === 'summary') {
    return { type: 'reasoning_summary', summary_index: entry, summary_delta: piece };
  }
  // Redacted reasoning has no entry, so it has no delta.
  if (form !== 'full') return undefined;
  return { type: 'reasoning_content', content_index: entry, content_delta: piece };
}

/**
 * Returns the index of a part among the parts of the same form, for example among the summaries of a
 * reasoning block. This is a loop without functions, because it runs for each delta of a block.
 */
function entryIndex(state: FoldState, { slots }: LoggedMessage, { id, begin }: OpenPart): number {
  const form = begin.kind === 'reasoning' ? begin.form : undefined;
  let index = 0;
  for (const slot of slots) {
    if (slot.id === id) break;
    if (reasoningForm(state, slot) === form) index += 1;
  }
  return index;
}

/**
 * Returns whether a client can build the final content from the deltas by joining them and parsing JSON. In
 * this case, a `done` update is enough. Otherwise the message is sent in full.
 */
export function deltasBuildContent({ slots }: LoggedMessage): boolean {
  return slots.every(
    ({ part }) => part !== undefined && isBuiltByDeltas(part) && !mayHaveLateStyle(part),
  );
}

/**
 * Returns whether the style may have changed after the start of the message. For plain text, the view sends
 * the message again when its style changes. A partial JSON value cannot be sent in full, because later deltas
 * would not continue it. Its new style is therefore sent at the end.
 */
function mayHaveLateStyle(part: Part): boolean {
  const isPlainText = part.kind === 'text' && part.mimeType !== jsonType;
  return !isPlainText && styleOf(part.metadata) === 'active';
}

function isBuiltByDeltas(part: Part): boolean {
  switch (part.kind) {
    case 'text':
      return part.mimeType !== jsonType || parseObject(part.text) !== undefined;
    case 'tool_call':
      return parseObject(part.arguments) !== undefined && part.partial === undefined;
    // No delta is sent for an empty text or for redacted reasoning, so clients must get these blocks in full.
    case 'reasoning':
      return part.text !== '' && part.form !== 'redacted';
    // Clients parse any tool result that looks like JSON, even plain text. A result is therefore always sent
    // in full.
    case 'tool_result':
    case 'structured':
    case 'custom':
    case 'media':
    case 'file':
      return false;
  }
}

// Caches the JSON of each row. All deltas of a message contain the same row, which is most of their JSON.
const rowJson = new WeakMap<TaskMessage, string>();

/** Returns the JSON of an update. */
export function encodeUpdate(update: Update): string {
  const { parent_task_message: row } = update;
  if (update.type !== 'delta' || row === null) return JSON.stringify(update);
  const known = rowJson.get(row) ?? JSON.stringify(row);
  rowJson.set(row, known);
  const delta = JSON.stringify(update.delta);
  return `{"type":"delta","index":${update.index},"parent_task_message":${known},"delta":${delta}}`;
}
