import type { JsonObject } from '@millrace/core';
import { textIn } from '../json/fields.ts';
import { CallItem } from './call-item.ts';
import type { OutputItem } from './output-item.ts';

type Match = OutputItem | undefined;

/**
 * Which of the items that streamed each item of the final output is: by its id or its call's, else,
 * because ids may change from event to event, the next of its type.
 */
export function matchItems(
  output: readonly JsonObject[],
  streamed: readonly OutputItem[],
): readonly Match[] {
  const free = new Set(streamed);
  const take = (found: Match) => (found !== undefined && free.delete(found) ? found : undefined);
  const pick = (item: JsonObject, fits: (one: OutputItem) => boolean) =>
    take([...free].find((one) => isLike(one, item) && fits(one)));
  const picked = (fits: (one: OutputItem, item: JsonObject) => boolean, known: readonly Match[]) =>
    output.map((item, index) => known[index] ?? pick(item, (one) => fits(one, item)));
  const byId = picked((one, item) => one.id !== undefined && one.id === textIn(item, 'id'), []);
  const byName = picked((one, item) => one.isNamed(item), byId);
  const byText = picked((one, item) => one.isClosed && one.agrees(item), byName);
  return picked(() => true, byText);
}

/**
 * Is it none of the output's, of whose type that has others? Where a type is missing altogether, or
 * an item ended that cannot run, the output is only not complete.
 */
export function isUnlisted(
  item: OutputItem,
  output: readonly JsonObject[],
  matched: readonly Match[],
): boolean {
  if (matched.includes(item) || (item.isClosed && !(item instanceof CallItem))) return false;
  return output.some(({ type }) => type === item.type);
}

function isLike(one: OutputItem, item: JsonObject): boolean {
  return one.type === textIn(item, 'type') && !one.isOther(item);
}
