import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';

/** An item of the input, and what it remembers of the reasoning it came out of. */
export interface SentItem {
  readonly item: JsonObject;
  readonly origin?: JsonObject | undefined;
}

export interface ReasoningPairOptions {
  /** Does the provider keep items, so that it knows them by their ids? */
  readonly isStored: boolean;
  /** Does reasoning go back that is not encrypted? */
  readonly plainReasoning: boolean;
}

/**
 * The items of one answer that the provider will take. Reasoning goes only directly before what came
 * out of it, and what came out of reasoning that is gone goes without its id, because the provider
 * refuses the one without the other. What must have an id stays behind.
 */
export function keepReasoningPairs(
  items: readonly SentItem[],
  options: ReasoningPairOptions,
): readonly JsonObject[] {
  const kept = withoutOrphans(items.filter(({ item }) => isSendable(item, items, options)));
  const reasoning = new Map(
    kept.flatMap(({ item }) => (isReasoning(item) ? [[idOf(item), item] as const] : [])),
  );
  return kept.flatMap(({ item, origin }) => {
    if (origin === undefined) return [item];
    const source = reasoning.get(textIn(origin, 'reasoning'));
    if (source === undefined) return isCall(item) || isMessage(item) ? [withoutId(item)] : [];
    const isApart = options.plainReasoning && origin['isNext'] !== true && isCall(item);
    return isApart ? [source, item] : [item];
  });
}

function isSendable(
  item: JsonObject,
  items: readonly SentItem[],
  { isStored, plainReasoning }: ReasoningPairOptions,
): boolean {
  // What was under way when a response ended is refused.
  if (item['status'] === 'in_progress' || item['status'] === 'incomplete') return false;
  if (isReasoning(item)) {
    return isStored || plainReasoning || textIn(item, 'encrypted_content') !== undefined;
  }
  const { type } = item;
  if (type === 'image_generation_call') return isStored || textIn(item, 'result') !== undefined;
  if (!clientAnsweredTypes.has(type)) return true;
  const isAnswer = (other: JsonObject) =>
    other['type'] === `${type}_output` && other['call_id'] === item['call_id'];
  return items.some((other) => isAnswer(other.item));
}

/** Calls of the provider's own tools that a client has to answer: refused where nobody did. */
const clientAnsweredTypes: ReadonlySet<unknown> = new Set([
  'shell_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
]);

/** Without reasoning that is not directly followed by more of it or by what came out of it. */
function withoutOrphans(items: readonly SentItem[]): readonly SentItem[] {
  const kept: SentItem[] = [];
  for (const sent of items.toReversed()) {
    const next = kept[0];
    if (!isReasoning(sent.item) || (next && isFollower(next, sent.item))) kept.unshift(sent);
  }
  return kept;
}

function isFollower({ item, origin }: SentItem, reasoning: JsonObject): boolean {
  if (isReasoning(item)) return true;
  return origin?.['isNext'] === true && textIn(origin, 'reasoning') === idOf(reasoning);
}

export function isReasoning(item: JsonObject): boolean {
  return item['type'] === 'reasoning';
}

export function isCall({ type }: JsonObject): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function isMessage({ type }: JsonObject): boolean {
  return type === 'message';
}

function idOf(item: JsonObject): string | undefined {
  return textIn(item, 'id');
}

function withoutId({ id, ...rest }: JsonObject): JsonObject {
  return rest;
}
