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
 * Messages as items of a request. What the agent said in a row is one item, and the results of its
 * calls follow it, in the order of the calls: a call without a result gets one that says so, and a
 * result without a call is left out, because providers refuse both.
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

/** Half a call is not sent, and neither is a text without a word. */
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

/** The items but for the results. A result ends what the agent said before it. */
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
  const text = 'There is no result: the call was not carried out, or its end is not known.';
  return { kind: 'tool_result', toolCallId, name, text, isError: true };
}
