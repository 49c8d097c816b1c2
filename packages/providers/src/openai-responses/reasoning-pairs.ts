import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';

/** An input item, with a reference to the reasoning that led to it. */
export interface SentItem {
  readonly item: JsonObject;
  readonly origin?: JsonObject | undefined;
  /** True for a call of a built-in tool that has an output. */
  readonly isAnswered?: boolean | undefined;
  /** The item that is sent instead if its reasoning is not sent. Default: the same item without its id. */
  readonly withoutReasoning?: JsonObject | undefined;
}

export interface ReasoningPairOptions {
  /** True if the provider stores items and accepts their ids. */
  readonly isStored: boolean;
  /** True if unencrypted reasoning is sent back. */
  readonly plainReasoning: boolean;
}

/**
 * Returns the items of one answer in a form that the provider accepts. The provider rejects reasoning without
 * the item that followed it, and an item without its reasoning. Reasoning is therefore sent only directly
 * before the item that belongs to it. If the reasoning of an item is not sent, the item is sent without its
 * id. If the item needs an id, it is omitted.
 */
export function keepReasoningPairs(
  items: readonly SentItem[],
  options: ReasoningPairOptions,
): readonly JsonObject[] {
  const kept = withoutOrphans(items.filter((sent) => isSendable(sent, items, options)));
  const reasoning = new Map(
    kept.flatMap(({ item }) => (isReasoning(item) ? [[idOf(item), item] as const] : [])),
  );
  return kept.flatMap((sent) => {
    const { item, origin } = sent;
    if (origin === undefined) return [item];
    const source = reasoning.get(textIn(origin, 'reasoning'));
    if (source === undefined) {
      const isKept = isCall(sent) || isMessage(item);
      return isKept ? [sent.withoutReasoning ?? withoutId(item)] : [];
    }
    const isApart = options.plainReasoning && origin['isNext'] !== true && isCall(sent);
    return isApart ? [source, item] : [item];
  });
}

function isSendable(
  { item, isAnswered }: SentItem,
  items: readonly SentItem[],
  { isStored, plainReasoning }: ReasoningPairOptions,
): boolean {
  // The API rejects items that were incomplete when the response ended.
  if (item['status'] === 'in_progress' || item['status'] === 'incomplete') return false;
  if (isReasoning(item)) {
    return isStored || plainReasoning || textIn(item, 'encrypted_content') !== undefined;
  }
  const { type } = item;
  if (type === 'image_generation_call') return isStored || textIn(item, 'result') !== undefined;
  if (isAnswered || !clientAnsweredTypes.has(type)) return true;
  const isAnswer = (other: JsonObject) =>
    other['type'] === `${type}_output` && other['call_id'] === item['call_id'];
  return items.some((other) => isAnswer(other.item));
}

/**
 * The types of calls that the API rejects without an output. If such a call is stored as a custom part, it
 * has an output only if the provider ran it.
 */
const clientAnsweredTypes: ReadonlySet<unknown> = new Set([
  'shell_call',
  'local_shell_call',
  'apply_patch_call',
  'computer_call',
]);

/** Removes reasoning that is not directly followed by further reasoning or by the item that belongs to it. */
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

/** Returns whether an item is a call that the client answers. */
export function isCall({ item: { type }, isAnswered }: SentItem): boolean {
  return isAnswered === true || type === 'function_call' || type === 'custom_tool_call';
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
