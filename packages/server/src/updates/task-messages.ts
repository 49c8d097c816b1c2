import {
  type FoldState,
  findOpen,
  type ItemState,
  type JsonObject,
  livePart,
  type OpenPart,
  type Part,
  type PartId,
  PartialJson,
  type ReasoningPart,
  toArray,
} from '@millrace/core';
import { type Content, contentSchema } from '../contract/content.ts';
import type { TaskMessage } from '../contract/message.ts';
import { jsonType, partToContent, reasoningContent, styleOf, textFields } from './content-parts.ts';
import {
  editedId,
  findMessages,
  isIndexed,
  isStreaming,
  isVisible,
  type LoggedMessage,
  messagesInItem,
  openById,
} from './logged-message.ts';

// Caches the messages of each state, because a client that reads page after page reads them again and again.
const messagesByState = new WeakMap<FoldState, readonly LoggedMessage[]>();

/** Returns all messages of a task that clients may see, oldest first. */
export function currentMessages(state: FoldState): readonly LoggedMessage[] {
  const messages = messagesByState.get(state) ?? sortedMessages(state);
  messagesByState.set(state, messages);
  return messages;
}

function sortedMessages(state: FoldState): readonly LoggedMessage[] {
  const items = toArray(state.items);
  const edits = new Map(items.map((item) => [editedId(item), item.id]));
  const isCurrent = ({ id, item }: LoggedMessage) => (edits.get(id) ?? item.id) === item.id;
  return items
    .flatMap((item) => messagesInItem(state, item))
    .filter((message) => isCurrent(message) && isVisible(state, message))
    .map((message) => ({ message, time: createdAt(message.item) }))
    .sort(byCreation)
    .map(({ message }) => message);
}

/**
 * Returns all messages of a task, oldest first. A streaming message has the content that has arrived so far.
 */
export function messagesOf(state: FoldState): readonly TaskMessage[] {
  return currentMessages(state).map((message) => messageRow(state, message));
}

export function messageOf(state: FoldState, id: string): TaskMessage | undefined {
  return messagesWith(state, [id])[0];
}

/** Returns the messages with these ids. The result has undefined for an id without a visible message. */
export function messagesWith(
  state: FoldState,
  ids: readonly string[],
): readonly (TaskMessage | undefined)[] {
  const found = findMessages(state, ids);
  return ids.map((id) => {
    const message = found.get(id);
    const isShown = message !== undefined && isVisible(state, message);
    return isShown ? messageRow(state, message) : undefined;
  });
}

/** Compares the creation times of two messages. Messages with the same time keep the order of the log. */
function byCreation({ time: a }: Timed, { time: b }: Timed): number {
  if (a === b || a === null || b === null) return 0;
  return a < b ? -1 : 1;
}

interface Timed {
  readonly time: string | null;
}

/** Returns the current row of a message. */
export function messageRow(state: FoldState, message: LoggedMessage): TaskMessage {
  return toRow(
    state,
    message,
    contentOf(state, message),
    isStreaming(message) ? 'IN_PROGRESS' : 'DONE',
  );
}

// Caches the row of each message, so that it is not built for each delta. Only the metadata can change while
// a message streams.
const startRows = new WeakMap<
  LoggedMessage,
  { readonly metadata: unknown; readonly row: TaskMessage }
>();

/**
 * Returns the row of a message at its start. Each delta contains this row, so it must not grow with the
 * deltas.
 */
export function startRow(state: FoldState, message: LoggedMessage): TaskMessage {
  const metadata = findOpen(state, message.slots[0].id)?.metadata;
  const cached = startRows.get(message);
  if (cached !== undefined && cached.metadata === metadata) return cached.row;
  const startedRow = toRow(state, message, startContent(state, message), 'IN_PROGRESS');
  startRows.set(message, { metadata, row: startedRow });
  return startedRow;
}

/**
 * Returns the row of a removed message. The format cannot express a removal, so the content is an empty text.
 */
export function retractedRow(state: FoldState, message: LoggedMessage): TaskMessage {
  return toRow(state, message, emptyText(message), 'DONE');
}

function toRow(
  state: FoldState,
  { id, item }: LoggedMessage,
  content: Content,
  streaming_status: TaskMessage['streaming_status'],
): TaskMessage {
  const created_at = createdAt(item);
  const updated_at = timeOf(item.finishedAt ?? item.startedAt);
  return { id, task_id: state.session, content, streaming_status, created_at, updated_at };
}

/**
 * Returns the creation time of an item's messages. The metadata contains the time if the client set it, or if
 * an edit keeps the original time.
 */
export function createdAt(item: ItemState): string | null {
  const first = editedId(item) === undefined ? undefined : item.metadata?.['createdAt'];
  if (typeof first === 'string') return first;
  return timeOf(typeof first === 'number' ? first : item.startedAt);
}

// The latest time that a `Date` can represent. `toISOString` throws for larger numbers.
const lastTime = 8.64e15;

function timeOf(time: number | undefined): string | null {
  return time === undefined || time > lastTime ? null : new Date(time).toISOString();
}

function emptyText({ author }: LoggedMessage): Content {
  const head = { author, style: 'static', format: 'plain' } as const;
  return { type: 'text', ...head, content: '', attachments: null };
}

function contentOf(state: FoldState, { slots, author, item }: LoggedMessage): Content {
  const parts = partsOf(state, slots);
  const [first] = parts;
  if (first?.kind === 'reasoning' && isIndexed(item)) {
    return reasoningContent(
      parts.filter((part): part is ReasoningPart => part.kind === 'reasoning'),
      author,
    );
  }
  const open = slots[0].part === undefined ? findOpen(state, slots[0].id) : undefined;
  if (open !== undefined && isJson(open)) return partialJsonContent(open, author);
  return first === undefined
    ? emptyText({ author } as LoggedMessage)
    : partToContent(first, author);
}

/** Returns the parts of a message with their current content. A block of reasoning can have thousands of parts. */
function partsOf(state: FoldState, slots: LoggedMessage['slots']): readonly Part[] {
  const open = (id: PartId) => (slots.length === 1 ? findOpen(state, id) : openById(state).get(id));
  return slots.flatMap(({ id, part }) => {
    const streaming = part === undefined ? open(id) : undefined;
    return streaming === undefined ? (part ?? []) : livePart(streaming);
  });
}

/** Returns whether the part streams JSON text. */
export function isJson({ begin }: OpenPart): boolean {
  return begin.kind === 'tool_call' || (begin.kind === 'text' && begin.mimeType === jsonType);
}

/**
 * Returns the content of a JSON object that still streams. It contains the fields that have arrived so far.
 */
function partialJsonContent(open: OpenPart, author: Content['author']): Content {
  return jsonContent(open, author, parsePartialObject(open.text));
}

function parsePartialObject(text: string): JsonObject {
  const json = new PartialJson();
  json.feed(text);
  const { value } = json;
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

function jsonContent(open: OpenPart, author: Content['author'], value: JsonObject): Content {
  const { begin, metadata } = open;
  const head = { author, style: styleOf(metadata) };
  if (begin.kind !== 'tool_call') return { type: 'data', ...head, data: value };
  const call = { tool_call_id: begin.toolCallId, name: begin.name };
  return { type: 'tool_request', ...head, ...call, arguments: value };
}

function startContent(state: FoldState, message: LoggedMessage): Content {
  const { author, slots } = message;
  const open = findOpen(state, slots[0].id);
  // The first entry is already committed, and only later entries of the block still stream.
  if (open === undefined) return reasoningContent([], author);
  const content = emptyContent(open, author);
  const preview = message.isFirst ? previewOf(message.item) : undefined;
  return preview?.type === content.type ? { ...preview, ...styleField(open) } : content;
}

function emptyContent(open: OpenPart, author: Content['author']): Content {
  const { begin, metadata } = open;
  if (begin.kind === 'text' && !isJson(open)) {
    return { type: 'text', author, content: '', ...styleField(open), ...textFields(metadata) };
  }
  if (begin.kind === 'reasoning') return { ...reasoningContent([], author), ...styleField(open) };
  if (begin.kind === 'tool_result') {
    const call = { tool_call_id: begin.toolCallId, name: begin.name };
    return {
      type: 'tool_response',
      author,
      ...styleField(open),
      ...call,
      content: '',
      is_error: null,
    };
  }
  return jsonContent(open, author, {});
}

function styleField({ metadata }: OpenPart): { readonly style: Content['style'] } {
  return { style: styleOf(metadata) };
}

// Caches the preview of each item, so that it is not parsed for each delta.
const previews = new WeakMap<ItemState, { readonly content: Content | undefined }>();

/** Returns the content of the agent's `start` update. Returns undefined if the item has no preview. */
function previewOf(item: ItemState): Content | undefined {
  const cached = previews.get(item);
  if (cached !== undefined) return cached.content;
  const { data: content } = contentSchema.safeParse(item.metadata?.['start']);
  previews.set(item, { content });
  return content;
}
