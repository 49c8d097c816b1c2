import type { RunInput } from '@millrace/agent';
import { type Item, itemId } from '@millrace/core';

/** Texts become the items that they stand for. */
export function inputItems(input: RunInput): readonly Item[] {
  if (typeof input === 'string') {
    const id = itemId(crypto.randomUUID());
    return [{ id, kind: 'user', parts: [{ kind: 'text', text: input }] }];
  }
  return isList(input) ? input : [input];
}

function isList(input: Item | readonly Item[]): input is readonly Item[] {
  return Array.isArray(input);
}
