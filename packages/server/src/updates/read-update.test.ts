import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { readTextDelta, readUpdate } from './read-update.ts';

const odd = fc.constantFrom(undefined, null, -1, 0.5, 2 ** 53, '', 'x', {}, [], Number.NaN);
const delta = fc.record(
  {
    type: fc.oneof({ weight: 8, arbitrary: fc.constant('text') }, odd),
    text_delta: fc.oneof({ weight: 8, arbitrary: fc.string() }, odd),
    more: odd,
  },
  { requiredKeys: ['type', 'text_delta'] },
);
const update = fc.record(
  {
    type: fc.oneof({ weight: 8, arbitrary: fc.constant('delta') }, odd),
    index: fc.oneof({ weight: 4, arbitrary: fc.nat() }, odd),
    delta: fc.oneof({ weight: 8, arbitrary: delta }, odd),
    more: odd,
  },
  { requiredKeys: ['type', 'delta'] },
);

function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

test('the fast path reads a text delta exactly like the general path', () => {
  let glances = 0;
  fc.assert(
    fc.property(update, (update) => {
      if (readTextDelta(update) !== undefined) glances++;
      // An additional field, even with the value undefined, takes the general path.
      const general = { ...update, parent_task_message: undefined };
      expect(outcomeOf(() => readUpdate(update))).toEqual(outcomeOf(() => readUpdate(general)));
    }),
  );
  if (isFull) expect(glances).toBeGreaterThan(0);
});
