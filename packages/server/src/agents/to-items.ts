import { type Item, itemId, type Part, type ToolResultPart } from '@millrace/core';
import { partsOfContent } from '../updates/part-of-content.ts';
import type { TaskMessage } from '../wire/task-message.ts';

/**
 * Messages as items of a request. What the agent said in a row is one item, and the results of its
 * calls follow it, wherever they stand; a result that nobody asked for is left out.
 */
export function toItems(messages: readonly TaskMessage[]): readonly Item[] {
  const results = resultsIn(messages);
  const items: Item[] = [];
  let said: { readonly id: string; readonly parts: Part[] } | undefined;
  const finish = () => {
    if (said === undefined) return;
    const { id, parts } = said;
    said = undefined;
    items.push({ id: itemId(id), kind: 'assistant', parts });
    const answers = parts.flatMap((part) =>
      part.kind === 'tool_call' ? (results.get(part.toolCallId) ?? []) : [],
    );
    if (answers.length > 0)
      items.push({ id: itemId(`${id}.results`), kind: 'tool', parts: answers });
  };
  for (const [place, { id, content }] of messages.entries()) {
    const name = id ?? `message ${place + 1}`;
    if (content.type === 'tool_response') {
      finish();
    } else if (content.author === 'user') {
      finish();
      items.push({ id: itemId(name), kind: 'user', parts: partsOfContent(content) });
    } else {
      said ??= { id: name, parts: [] };
      said.parts.push(...partsOfContent(content));
    }
  }
  finish();
  return items;
}

/** The last word on a call counts. */
function resultsIn(messages: readonly TaskMessage[]): ReadonlyMap<string, ToolResultPart> {
  const parts = messages.flatMap(({ content }) =>
    content.type === 'tool_response' ? partsOfContent(content) : [],
  );
  return new Map(
    parts.flatMap((part) => (part.kind === 'tool_result' ? [[part.toolCallId, part]] : [])),
  );
}
