import { type Item, itemId } from '@millrace/core';

/** The shortest conversation that all providers accept. */
export const helloItems: readonly Item[] = [
  { id: itemId('u'), kind: 'user', parts: [{ kind: 'text', text: 'Hello' }] },
];
