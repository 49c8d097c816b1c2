import { expect, test } from 'vitest';
import { memoryStorage } from '../../testing/memory-storage.ts';
import { Drafts } from './draft.ts';

test('two tabs of one session have separate drafts, also after one is sent and after a reload', () => {
  const shared = memoryStorage();
  const [ownA, ownB] = [memoryStorage(), memoryStorage()];
  const a = new Drafts(ownA, shared);
  const b = new Drafts(ownB, shared);
  a.write('s', 'of the first');
  b.write('s', 'of the second');
  a.write('s', '');
  expect(b.read('s')).toBe('of the second');
  expect(new Drafts(ownB, shared).read('s')).toBe('of the second');
  expect(new Drafts(ownA, shared).read('s')).toBe('');
});

test('a new tab starts with the last draft', () => {
  const shared = memoryStorage();
  new Drafts(memoryStorage(), shared).write('s', 'half a thought');
  expect(new Drafts(memoryStorage(), shared).read('s')).toBe('half a thought');
  expect(new Drafts(memoryStorage(), shared).read('another')).toBe('');
});

test('a sent draft is removed', () => {
  const shared = memoryStorage();
  const own = memoryStorage();
  const drafts = new Drafts(own, shared);
  drafts.write('s', 'said');
  drafts.write('s', '');
  expect([own().length, shared().length]).toEqual([0, 0]);
});

test('a message to edit is inserted before the current draft', () => {
  const drafts = new Drafts(memoryStorage(), memoryStorage());
  drafts.add('s', 'first');
  expect(drafts.read('s')).toBe('first');
  drafts.write('s', 'second');
  drafts.add('s', 'first');
  expect(drafts.read('s')).toBe('first\n\nsecond');
});

test('drafts work if the browser blocks storage', () => {
  const refused = () => {
    throw new Error('SecurityError');
  };
  const drafts = new Drafts(refused, refused);
  drafts.write('s', 'typed');
  expect(drafts.read('s')).toBe('typed');
});
