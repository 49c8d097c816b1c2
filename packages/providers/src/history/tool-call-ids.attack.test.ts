import { toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { endsByItself } from '../../../core/src/testing/ends-by-itself.ts';
import { defaultIdRule, ToolCallIds } from './tool-call-ids.ts';

// A client sends a history with thousands of calls that have the same id. Each request of the session tried all
// numbers again for each of these calls.

test.each(['c', 'é'.repeat(500)])(
  '18.813: attack: thousands of calls with the same id %#',
  (id) => {
    const count = 20_000;
    const unique = endsByItself(() => {
      const ids = new ToolCallIds(defaultIdRule);
      return new Set(Array.from({ length: count }, () => ids.next(toolCallId(id)))).size;
    });
    expect(unique).toBe(count);
  },
);

test('18.813: all ids of a short rule are used before they are exhausted', () => {
  const ids = new ToolCallIds({ form: /^[a-z0-9A-Z]$/, length: 1 });
  const next = () => ids.next(toolCallId('a'));
  expect(new Set(Array.from({ length: 62 }, next)).size).toBe(62);
  expect(next).toThrow('too few for the calls in the history');
});
