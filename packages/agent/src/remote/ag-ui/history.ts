import {
  type Item,
  isJsonObject,
  type JsonObject,
  type Part,
  type ToolResultPart,
  toBase64,
} from '@millrace/core';
import { memoryPart } from '../step-writer.ts';
import { textIn } from './read-events.ts';

/** The ids of the messages that contain calls and their results, by call. */
export class CallIds {
  readonly ofCalls: Map<string, string> = new Map();
  readonly ofResults: Map<string, string> = new Map();

  /** Reads the ids from a message of the agent, for the given calls. */
  read(message: JsonObject, calls: Pick<ReadonlySet<string>, 'has'>): void {
    const id = textIn(message, 'id');
    const { toolCalls } = message;
    const made = Array.isArray(toolCalls) ? toolCalls.map((call) => textIn(call, 'id')) : [];
    const result = textIn(message, 'toolCallId');
    if (id === undefined) return;
    for (const call of made) if (call !== undefined && calls.has(call)) this.ofCalls.set(call, id);
    if (message['role'] === 'tool' && result !== undefined && calls.has(result))
      this.ofResults.set(result, id);
  }

  /** The ids as JSON. The items of the session store it. */
  get value(): JsonObject {
    return {
      calls: Object.fromEntries(this.ofCalls),
      results: Object.fromEntries(this.ofResults),
    };
  }

  /** Reads the ids that the items of a session store. */
  static of(items: readonly Item[]): CallIds {
    const ids = new CallIds();
    for (const part of items.flatMap(({ parts }) => parts)) {
      if (part.kind !== 'custom' || part.name !== memoryPart || !isJsonObject(part.value)) continue;
      const { calls, results } = part.value;
      for (const [map, given] of [[ids.ofCalls, calls] as const, [ids.ofResults, results] as const])
        for (const [call, id] of Object.entries(isJsonObject(given) ? given : {}))
          if (typeof id === 'string') map.set(call, id);
    }
    return ids;
  }
}

/** Returns the messages of a session in the format of AG-UI. Each run needs all of them. */
export function messagesOf(items: readonly Item[], own: ReadonlySet<string>): JsonObject[] {
  const ids = CallIds.of(items);
  return items.flatMap((item): JsonObject[] => {
    const { id, kind, parts } = item;
    if (kind === 'user') return [{ id, role: 'user', content: contentOf(parts) }];
    if (kind === 'assistant') return assistantMessages(item, own, ids);
    if (kind !== 'tool') return [];
    return parts.flatMap((part, index) =>
      part.kind === 'tool_result' && own.has(part.toolCallId)
        ? [toolMessage(part, ids.ofResults.get(part.toolCallId) ?? `${id}-${index}`)]
        : [],
    );
  });
}

/** Returns the ids of the calls that the remote agent made, without calls that only ask a question. */
export function callsOf(items: readonly Item[]): ReadonlySet<string> {
  const calls = items.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === 'tool_call' && part.name !== 'question' ? [String(part.toolCallId)] : [],
    ),
  );
  return new Set(calls);
}

function toolMessage({ toolCallId, text }: ToolResultPart, id: string): JsonObject {
  return { id, role: 'tool', toolCallId, content: text };
}

function assistantMessages(
  { id, parts }: Item,
  own: ReadonlySet<string>,
  ids: CallIds,
): JsonObject[] {
  const messages: JsonObject[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'text') {
      const messageId = textIn(part.providerState?.data, 'id') ?? `${id}-${index}`;
      messages.push({ id: messageId, role: 'assistant', content: part.text });
    }
    if (part.kind !== 'tool_call' || !own.has(part.toolCallId)) continue;
    const { toolCallId, name, arguments: given } = part;
    const call = { id: toolCallId, type: 'function', function: { name, arguments: given } };
    const parent = ids.ofCalls.get(toolCallId);
    const isNew = parent !== undefined && messages.at(-1)?.['id'] !== parent;
    const empty: JsonObject = { id: parent ?? `${id}-${index}`, role: 'assistant' };
    const last = (isNew ? undefined : messages.pop()) ?? empty;
    const calls = (last['toolCalls'] as JsonObject[] | undefined) ?? [];
    messages.push({ ...last, toolCalls: [...calls, call] });
  }
  return messages;
}

function contentOf(parts: readonly Part[]): string | JsonObject[] {
  const content = parts.flatMap((part): JsonObject[] => {
    if (part.kind === 'text') return [{ type: 'text', text: part.text }];
    if (part.kind !== 'media' && part.kind !== 'file') return [];
    const { source, mimeType } = part;
    const type = /^(image|audio|video)\//.exec(mimeType)?.[1] ?? 'document';
    if (source.type === 'url')
      return [{ type, source: { type: 'url', value: source.url, mimeType } }];
    if (source.type !== 'bytes') return [];
    return [{ type, source: { type: 'data', value: toBase64(source.bytes), mimeType } }];
  });
  const isText = content.every(({ type }) => type === 'text');
  return isText ? content.map(({ text }) => String(text)).join('\n') : content;
}
