import {
  type Item,
  type ItemKind,
  itemId,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
} from '@millrace/core';
import type { TaskMessage } from '../contract/message.ts';
import { contentToParts } from './content-parts.ts';

/**
 * Converts messages to the items of a model request. Consecutive messages of the agent become one item. The
 * results of its calls follow in the order of the calls. Providers reject unmatched calls and results.
 * Therefore a call without a result gets an error result, and a result without a call is removed.
 */
export function toItems(messages: readonly TaskMessage[]): readonly Item[] {
  const sendable = messages.filter(isSendable);
  const results = resultsIn(sendable);
  return withoutResults(sendable).flatMap((item) => {
    const calls = item.parts.filter((part): part is ToolCallPart => part.kind === 'tool_call');
    if (calls.length === 0) return item;
    const parts = calls.map((call) => results.get(call.toolCallId) ?? missingResult(call));
    return [item, { id: itemId(`${item.id}.results`), kind: 'tool', parts }];
  });
}

/** Returns whether a message can be sent to a model. Unfinished tool calls and empty texts cannot be sent. */
function isSendable({ content, streaming_status }: TaskMessage): boolean {
  if (content.type === 'tool_request') return streaming_status !== 'IN_PROGRESS';
  return content.type !== 'text' || content.content !== '';
}

function resultsIn(messages: readonly TaskMessage[]): ReadonlyMap<string, ToolResultPart> {
  const results = new Map<string, ToolResultPart>();
  for (const { content } of messages) {
    if (content.type !== 'tool_response') continue;
    const [part] = contentToParts(content);
    const isFirst = !results.has(content.tool_call_id);
    if (part.kind === 'tool_result' && isFirst) results.set(part.toolCallId, part);
  }
  return results;
}

/** Groups the messages into items and omits tool results. A result ends the agent's current item. */
function withoutResults(messages: readonly TaskMessage[]): readonly Item[] {
  const items: { readonly id: Item['id']; readonly kind: ItemKind; readonly parts: Part[] }[] = [];
  let isEnded = true;
  const called = new Set<string>();
  for (const [position, { id, content }] of messages.entries()) {
    const isResult = content.type === 'tool_response';
    const isAgain = content.type === 'tool_request' && called.has(content.tool_call_id);
    if (content.type === 'tool_request') called.add(content.tool_call_id);
    const kind = content.author === 'user' ? 'user' : 'assistant';
    const last = items.at(-1);
    if (isResult) isEnded = true;
    if (isResult || isAgain) continue;
    if (last === undefined || isEnded || last.kind !== kind || kind === 'user') {
      items.push({ id: itemId(id ?? `message${position}`), kind, parts: [] });
    }
    items.at(-1)?.parts.push(...contentToParts(content));
    isEnded = false;
  }
  return items;
}

function missingResult({ toolCallId, name }: ToolCallPart): ToolResultPart {
  const text = 'There is no result: the call was not executed, or its outcome is unknown.';
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}
