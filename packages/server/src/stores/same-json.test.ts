import type { JsonValue } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { isSameJson } from './same-json.ts';

/** Returns the JSON text of a value with sorted keys. */
function sortedText(value: JsonValue): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

test('18.491: two values are equal if their JSON texts with sorted keys are equal', () => {
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<JsonValue>(null, true, 0, 1, '', '1', 'a'),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '1'), tie('value'), { maxKeys: 2 }),
    ),
  }));
  fc.assert(
    fc.property(value, value, (stored, wanted) => {
      expect(isSameJson(stored, wanted)).toBe(sortedText(stored) === sortedText(wanted));
      expect(isSameJson(stored, structuredClone(stored))).toBe(true);
    }),
    { numRuns: runs(20_000) },
  );
});
