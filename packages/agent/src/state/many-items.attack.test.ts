import { emptyState, type Item, type ItemState, itemId, sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { findUsedId, withFreshIds } from './drafts.ts';

// A client sends one message with thousands of items to a session with thousands of items. The server searched the
// whole session for each item, in one turn of the event loop.

const count = 2000;

/** A session whose items count how often their ids are read. */
function longSession() {
  let reads = 0;
  const items = Array.from({ length: count }, (_, at) => ({
    get id() {
      reads++;
      return itemId(`session item ${at}`);
    },
  })) as unknown as readonly ItemState[];
  const state = { ...emptyState(sessionId('s')) };
  return { state: { ...state, items: { ...state.items, chunk: items } }, reads: () => reads };
}

const newItems = Array.from({ length: count }, (_, at): Item => {
  return { id: itemId(`new item number ${at}`), kind: 'user', parts: [] };
});
const ids = { item: () => itemId('fresh') } as Parameters<typeof withFreshIds>[2];

test('18.812: attack: a message with many items reads each item of the session many times', () => {
  const { state, reads } = longSession();
  expect(withFreshIds(newItems, state, ids)).toEqual(newItems);
  expect(findUsedId(newItems, state)).toBeUndefined();
  expect(reads()).toBeLessThanOrEqual(4 * count);
});

test('18.812: items whose ids are used get other ids', () => {
  const { state } = longSession();
  const first: Item = { id: itemId('session item 1'), kind: 'user', parts: [] };
  const twice = newItems.slice(0, 1);
  const items = [...twice, first, ...twice];
  expect(withFreshIds(items, state, ids).map(({ id }) => id)).toEqual([
    ...['new item number 0', 'fresh', 'fresh'],
  ]);
  expect(findUsedId(items, state)).toBe('session item 1');
  expect(findUsedId([...twice, ...twice], state)).toBe('new item number 0');
});
