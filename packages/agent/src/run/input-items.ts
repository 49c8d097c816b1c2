import type { Ids, Item } from '@millrace/core';
import type { RunInput } from './run.ts';

export function inputItems(input: RunInput, ids: Pick<Ids, 'item'>): readonly Item[] {
  if (typeof input === 'string')
    return [{ id: ids.item(), kind: 'user', parts: [{ kind: 'text', text: input }] }];
  return isList(input) ? input : [input];
}

function isList(input: Item | readonly Item[]): input is readonly Item[] {
  return Array.isArray(input);
}
