import {
  type FoldState,
  type ItemState,
  type JsonObject,
  type JsonValue,
  toArray,
} from '@millrace/core';

/** What the last person said. */
export function lastSaid({ items }: FoldState): ItemState | undefined {
  return toArray(items).findLast(({ kind }) => kind === 'user');
}

/** What was said to a sync agent with that key. */
export function saidWith({ items }: FoldState, key: string): ItemState | undefined {
  return toArray(items).find(({ metadata }) => metadata?.['key'] === key);
}

export function textOfItem(item: ItemState | undefined): string | undefined {
  const texts = item?.parts.flatMap(({ part }) => (part?.kind === 'text' ? part.text : []));
  return texts?.join('\n');
}

/** The words of a message or an event that is, or was, in a queue; undefined where it has none. */
export function textOfCommand({ type, items, content }: JsonObject): string | undefined {
  if (type === 'event') return textOf(content, 'content');
  if (type !== 'message' || !Array.isArray(items)) return undefined;
  const parts = items.flatMap((item) => (isObject(item) ? (item['parts'] ?? []) : []));
  return parts.flatMap((part) => textOf(part, 'text') ?? []).join('\n');
}

function textOf(value: JsonValue | undefined, key: string): string | undefined {
  const text = isObject(value) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
