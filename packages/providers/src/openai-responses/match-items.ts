import type { JsonObject } from '@millrace/core';
import { textIn } from '../wire/fields.ts';
import type { OutputItem } from './output-item.ts';

/**
 * Which of the items that streamed each item of the final output is: by its id or its call's, else,
 * because ids may change from event to event, the next of its type.
 */
export function matchItems(
  output: readonly JsonObject[],
  streamed: readonly OutputItem[],
): readonly (OutputItem | undefined)[] {
  const free = new Set(streamed);
  const named = byName(streamed);
  const take = (item: OutputItem | undefined, type: string | undefined) =>
    item !== undefined && item.type === type && free.delete(item) ? item : undefined;
  const known = output.map((item) => {
    const found = named.get(nameOf(item, 'id')) ?? named.get(nameOf(item, 'call_id'));
    return take(found, textIn(item, 'type'));
  });
  return output.map((item, index) => {
    const type = textIn(item, 'type');
    const next = () => [...free].find((one) => one.type === type);
    return known[index] ?? take(next(), type);
  });
}

function byName(items: readonly OutputItem[]): ReadonlyMap<string, OutputItem> {
  const named = new Map(
    items.flatMap((item) =>
      ['id', 'call_id'].map((key) => [nameOf(item.fields, key), item] as const),
    ),
  );
  named.delete(noName);
  return named;
}

const noName = '';

function nameOf(fields: JsonObject, key: string): string {
  const name = textIn(fields, key);
  return name === undefined ? noName : `${key} ${name}`;
}
