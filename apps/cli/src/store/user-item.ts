import { type Ids, type Item, randomIds } from '@millrace/core';

export interface UserItemOptions {
  readonly cwd: string;
  readonly ids?: Pick<Ids, 'item'> | undefined;
}

const systemIds = randomIds((bytes) => crypto.getRandomValues(bytes));

/** What a person says, with the folder that it is about: lists of sessions find it there. */
export function userItem(texts: readonly string[], options: UserItemOptions): Item {
  const { cwd, ids = systemIds } = options;
  const parts = texts.map((text) => ({ kind: 'text', text }) as const);
  return { id: ids.item(), kind: 'user', parts, metadata: { cwd } };
}
