import {
  type FilePart,
  type FoldState,
  findItemOfPart,
  type ItemState,
  type JsonObject,
  type MediaPart,
  type Part,
  type PartId,
  type PartSlot,
  type ToolResultPart,
  toArray,
  toBase64,
} from '@millrace/core';
import { openPart } from '../../messages/part-content.ts';

/** A call in a message of the assistant. */
interface ThreadCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message of AG-UI. */
export interface ThreadMessage {
  readonly id: string;
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'reasoning';
  readonly content?: Content;
  readonly toolCalls?: readonly ThreadCall[];
  readonly toolCallId?: string;
  readonly metadata?: JsonObject;
}

type Content = string | readonly ContentPart[];
type ContentPart = Readonly<Record<string, unknown>> & { readonly type: string };

/** The metadata of an item that a client of AG-UI sent. */
interface ItemOrigin {
  /** The ids that the client gave to the messages of the item. */
  readonly ids?: readonly string[];
}

/** Returns the id of the message that shows a part. */
export function messageIdOf(partId: string): string {
  return `msg_${partId}`;
}

/**
 * Returns the messages of a folded state. An item of the assistant becomes one message for each text and each
 * reasoning. A call belongs to the text before it.
 */
export function messagesOf(
  state: FoldState,
  items: readonly ItemState[] = toArray(state.items),
): readonly ThreadMessage[] {
  return items.flatMap((item) => {
    const { ids = [] } = (item.metadata?.['agui'] ?? {}) as ItemOrigin;
    return itemMessages(state, item).map((message, index) => ({
      ...message,
      id: ids[index] ?? message.id,
    }));
  });
}

/**
 * Returns the id of the message that contains the call of this part: the text before the call, or the first
 * call after a reasoning or at the start of the item.
 */
export function parentOfCall(state: FoldState, partId: PartId): string {
  const { parts = [] } = findItemOfPart(state, partId) ?? {};
  let parent = messageIdOf(partId);
  for (let at = parts.findLastIndex(({ id }) => id === partId) - 1; at >= 0; at--) {
    const slot = parts[at] as PartSlot;
    const part = slot.part ?? openPart(state, slot.id);
    if (part === undefined || streamedText(part) === undefined) continue;
    if (part.kind === 'reasoning') break;
    parent = messageIdOf(slot.id);
    if (part.kind !== 'tool_call') break;
  }
  return parent;
}

function itemMessages(state: FoldState, item: ItemState): readonly ThreadMessage[] {
  const { kind, parts } = item;
  switch (kind) {
    case 'system':
    case 'developer':
      return [{ id: messageIdOf(item.id), role: kind, content: textsOf(parts).join('\n') }];
    case 'user':
      return [{ id: messageIdOf(item.id), role: kind, content: userContent(state, parts) }];
    case 'assistant':
      return assistantMessages(state, parts);
    case 'tool':
      return parts.flatMap(({ id, part }) =>
        part?.kind === 'tool_result' ? [toolMessage(state, id, part)] : [],
      );
    default:
      return [];
  }
}

function assistantMessages(state: FoldState, parts: readonly PartSlot[]): readonly ThreadMessage[] {
  const messages: ThreadMessage[] = [];
  /** The calls of the last message. Undefined if the last message is not one of the assistant. */
  let calls: ThreadCall[] | undefined;
  for (const slot of parts) {
    const id = messageIdOf(slot.id);
    const part = slot.part ?? openPart(state, slot.id);
    const text = part && streamedText(part);
    if (part === undefined || text === undefined) continue;
    if (part.kind === 'reasoning') {
      messages.push({ id, role: 'reasoning', content: text });
      calls = undefined;
    } else if (part.kind !== 'tool_call') {
      messages.push({ id, role: 'assistant', content: text });
      calls = [];
    } else {
      const { toolCallId, name } = part;
      if (calls === undefined) messages.push({ id, role: 'assistant' });
      calls ??= [];
      calls.push({ id: toolCallId, type: 'function', function: { name, arguments: text } });
      const last = messages.at(-1);
      if (calls.length === 1 && last !== undefined)
        messages[messages.length - 1] = { ...last, toolCalls: calls };
    }
  }
  return messages;
}

/** Returns the text that a client of AG-UI receives in pieces. Undefined if the part is not shown. */
export function streamedText(part: Part): string | undefined {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'reasoning':
      return part.form === 'redacted' ? undefined : part.text;
    case 'tool_call':
      return part.arguments;
    case 'structured':
      return JSON.stringify(part.value);
    default:
      return undefined;
  }
}

/** Returns the message of a result. The metadata marks errors, because the event of a result has no field. */
export function toolMessage(state: FoldState, id: string, part: ToolResultPart): ThreadMessage {
  const { toolCallId, text, isError, attachments = [] } = part;
  const files = attachments.filter(
    ({ kind, mimeType }) => kind === 'media' || !/^text\//.test(mimeType),
  );
  const content =
    files.length === 0
      ? text
      : [{ type: 'text', text }, ...files.map((file) => filePart(state, file))];
  const metadata = isError ? { metadata: { millrace: { isError } } } : {};
  return { id: messageIdOf(id), role: 'tool', toolCallId, content, ...metadata };
}

function userContent(state: FoldState, parts: readonly PartSlot[]): Content {
  const given = parts.flatMap(({ part }): readonly ContentPart[] => {
    if (part?.kind === 'text') return [{ type: 'text', text: part.text }];
    if (part?.kind === 'media' || part?.kind === 'file') return [filePart(state, part)];
    return [];
  });
  const texts = textsOf(parts);
  return texts.length === given.length ? texts.join('\n') : given;
}

function textsOf(parts: readonly PartSlot[]): readonly string[] {
  return parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : []));
}

function filePart({ session }: FoldState, part: MediaPart | FilePart): ContentPart {
  const { source, mimeType } = part;
  const kind = /^(image|audio|video)\//.exec(mimeType)?.[1];
  const name = part.kind === 'file' ? { metadata: { filename: part.name } } : {};
  const of = (from: object) => ({ type: kind ?? 'document', source: from, ...name });
  switch (source.type) {
    case 'bytes':
      return of({ type: 'data', value: toBase64(source.bytes), mimeType });
    case 'url':
      return of({ type: 'url', value: source.url, mimeType });
    case 'blob': {
      const value = `/tasks/${encodeURIComponent(session)}/blobs/${source.hash}`;
      return of({ type: 'url', value, mimeType });
    }
    case 'provider_file':
      return of({ type: 'file', value: source.id, provider: source.provider, mimeType });
  }
}
