import { expect, test } from 'vitest';
import type { LogRecord } from '../protocol/record.ts';
import { testSession } from '../testing/random-log.ts';
import { Folder } from './fold.ts';

test('18.1360: attack: an answer that retracts its parts one by one makes the fold copy all retracted ids', () => {
  const count = 4096;
  const at = { turn: 1, attempt: 1, producer: 'p' };
  const folder = new Folder(testSession);
  const add = (what: object) => {
    const offset = folder.state.through + 1;
    folder.add({ ...at, offset, time: offset, ...what } as LogRecord);
  };
  add({ fact: { type: 'turn_started' } });
  add({ fact: { type: 'item_started', itemId: 'i', kind: 'assistant' } });
  const ids = Array.from({ length: count }, (_, n) => `1.1.p${n}`);
  const part = { kind: 'text', text: 'x' };
  for (const partId of ids) add({ delta: { type: 'commit_part', itemId: 'i', partId, part } });
  let copied = 0;
  for (const partId of ids) {
    const known = new Set(folder.state.gone);
    add({ delta: { type: 'retract_part', partId } });
    for (const values of folder.state.gone) if (!known.has(values)) copied += values.size;
  }
  expect(folder.state.gone.flatMap((values) => [...values])).toEqual(ids);
  // Each id is copied at most once for each power of two.
  expect(copied).toBeLessThanOrEqual(count * 13);
});
