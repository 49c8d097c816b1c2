import type { FoldState, ItemState, Part, Sequence } from '@millrace/core';

/** The approximate memory of an item without its content, in bytes. */
const itemBytes = 400;
/**
 * The size of each item list, in bytes. Two lists share their older links, so each link is measured only
 * once.
 */
const sizes = new WeakMap<Sequence<ItemState>, number>();

/** Returns the approximate memory of a state, in bytes. */
export function bytesOf({ items, open }: FoldState): number {
  const links: Sequence<ItemState>[] = [];
  let link: Sequence<ItemState> | undefined = items;
  for (; link !== undefined && !sizes.has(link); link = link.before) links.push(link);
  let bytes = (link && sizes.get(link)) ?? 0;
  for (const one of links.toReversed()) {
    for (const item of one.chunk) bytes += sizeOf(item);
    sizes.set(one, bytes);
  }
  return open.reduce((sum, { text }) => sum + 2 * text.length, bytes);
}

/** Returns the approximate memory of an item, in bytes. */
export function sizeOf({ parts }: ItemState): number {
  return parts.reduce(
    (sum, { part }) => sum + (part === undefined ? 0 : partBytes(part)),
    itemBytes,
  );
}

function partBytes(part: Part): number {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return 2 * part.text.length;
    case 'tool_call':
      return 4 * part.arguments.length;
    case 'tool_result':
      return (part.value === undefined ? 2 : 4) * part.text.length;
    case 'structured':
    case 'custom':
      return 2 * JSON.stringify(part.value).length;
    case 'media':
    case 'file':
      return part.source.type === 'bytes' ? part.source.bytes.length : 0;
  }
}
