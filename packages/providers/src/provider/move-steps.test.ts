import { countingIds, type Delta, itemId, partId } from '@millrace/core';
import { expect, test } from 'vitest';
import { moveSteps } from './wrap-provider.ts';

const item = { id: itemId('new'), turn: 7, attempt: 2 };
const old = partId(1, 1, 'a.b');
const end = { stop: { reason: 'stop' }, usage: {} } as never;

test('moved steps name the item and attempt at hand, and say the same', () => {
  const deltas: readonly Delta[] = [
    { type: 'begin_part', partId: old, itemId: itemId('old'), kind: 'text' },
    { type: 'append_text', partId: old, at: 0, chunk: 'x' },
    { type: 'commit_part', partId: old, length: 1 },
    { type: 'unknown', raw: { type: 'later' } },
  ];
  const moved = { partId: '7.2.a.b' };
  expect(moveSteps([{ deltas }, { deltas: [], end }], item)).toEqual([
    {
      deltas: [
        { ...deltas[0], ...moved, itemId: 'new' },
        { ...deltas[1], ...moved },
        { ...deltas[2], ...moved },
        deltas[3],
      ],
    },
    { deltas: [], end },
  ]);
  expect(deltas[0]).toMatchObject({ partId: '1.1.a.b', itemId: 'old' });
});

test('parts of one step keep ids of their own', () => {
  const ids = countingIds();
  const deltas = [1, 2].map(
    (): Delta => ({
      type: 'begin_part',
      partId: ids.part(1, 1),
      itemId: itemId('old'),
      kind: 'text',
    }),
  );
  const [step] = moveSteps([{ deltas }], item);
  expect(step?.deltas.map((delta) => 'partId' in delta && delta.partId)).toEqual([
    '7.2.p1',
    '7.2.p2',
  ]);
});
