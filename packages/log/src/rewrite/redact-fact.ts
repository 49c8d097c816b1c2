import type { Fact, ItemId, JsonObject, JsonValue, ToolCallId } from '@millrace/core';

/**
 * A fact without what it repeats of an item that was redacted: words about its calls, a summary that
 * it went into, the command that it came from if that names it. The facts themselves stay.
 */
export function withoutWords(fact: Fact, item: ItemId, calls: ReadonlySet<ToolCallId>): Fact {
  switch (fact.type) {
    case 'tool_call_rejected':
      return calls.has(fact.toolCallId) ? { ...fact, message: '' } : fact;
    case 'tool_execution_started':
      return calls.has(fact.toolCallId) ? { ...fact, summary: '' } : fact;
    case 'approval_asked':
    case 'approval_answered':
      return calls.has(fact.toolCallId) ? withoutReason(fact) : fact;
    case 'compacted':
      return fact.itemIds.includes(item) ? { type: fact.type, itemIds: fact.itemIds } : fact;
    case 'command_queued':
      return { ...fact, command: withoutItem(fact.command, item) };
    default:
      return fact;
  }
}

type Approval = Extract<Fact, { type: 'approval_asked' | 'approval_answered' }>;

function withoutReason(fact: Approval): Fact {
  if (fact.type === 'approval_asked') {
    const { reason: _said, rule: _about, ...rest } = fact;
    return rest;
  }
  const { reason: _said, input: _changed, ...rest } = fact;
  return rest;
}

/** One that is for the item says no more than that; of several that it brings, the item goes. */
function withoutItem(command: JsonObject, item: ItemId): JsonObject {
  if (command['itemId'] === item) return bare(command);
  const { items } = command;
  if (!Array.isArray(items)) return command;
  const isOther = (one: JsonValue) => (one as { readonly id?: JsonValue } | null)?.id !== item;
  return items.every(isOther) ? command : { ...command, items: items.filter(isOther) };
}

/** What kind of command it was, and for which item. */
function bare({ type, itemId }: JsonObject): JsonObject {
  return { ...(type === undefined ? {} : { type }), ...(itemId === undefined ? {} : { itemId }) };
}
