import { type Item, type JsonObject, type Part, toBase64 } from '@millrace/core';
import { textIn } from './read-events.ts';

/** Returns the messages of a session in the format of AG-UI. Each run needs all of them. */
export function messagesOf(items: readonly Item[], own: ReadonlySet<string>): JsonObject[] {
  return items.flatMap((item): JsonObject[] => {
    const { id, kind, parts } = item;
    if (kind === 'user') return [{ id, role: 'user', content: contentOf(parts) }];
    if (kind === 'assistant') return assistantMessages(item, own);
    if (kind !== 'tool') return [];
    return parts.flatMap((part, index) =>
      part.kind === 'tool_result' && own.has(part.toolCallId)
        ? [{ id: `${id}-${index}`, role: 'tool', toolCallId: part.toolCallId, content: part.text }]
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

function assistantMessages({ id, parts }: Item, own: ReadonlySet<string>): JsonObject[] {
  const messages: JsonObject[] = [];
  let calls: JsonObject[] | undefined;
  for (const [index, part] of parts.entries()) {
    if (part.kind === 'text') {
      const messageId = textIn(part.providerState?.data, 'id') ?? `${id}-${index}`;
      messages.push({ id: messageId, role: 'assistant', content: part.text });
      calls = undefined;
    }
    if (part.kind !== 'tool_call' || !own.has(part.toolCallId)) continue;
    const { toolCallId, name, arguments: given } = part;
    const call = { id: toolCallId, type: 'function', function: { name, arguments: given } };
    const last = messages.pop() ?? { id: `${id}-${index}`, role: 'assistant' };
    calls = [...(calls ?? []), call];
    messages.push({ ...last, toolCalls: calls });
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
