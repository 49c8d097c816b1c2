import { describe, expect, test } from 'vitest';
import { commandSchema, createSpanSchema, updateMessagesSchema } from './request-bodies.ts';

const span = { trace_id: 't', name: 'n' };

describe('a time', () => {
  test.each([
    ['2026-01-01T10:00:00', '2026-01-01T10:00:00Z'],
    ['2026-01-01T10:00:00.123456', '2026-01-01T10:00:00.123456Z'],
    ['2026-01-01 10:00', '2026-01-01 10:00Z'],
    ['2026-01-01T10:00:00+02:00', '2026-01-01T10:00:00+02:00'],
    ['2026-01-01T10:00:00Z', '2026-01-01T10:00:00Z'],
    ['2026-01-01', '2026-01-01'],
  ])('%s is read as %s in every time zone', (start_time, read) => {
    expect(createSpanSchema.parse({ ...span, start_time }).start_time).toBe(read);
  });

  test.each(['1', 'yesterday', '2026-13-01T00:00:00Z', 'Thu Jan 1 2026', ''])(
    '%j is refused',
    (start_time) => {
      expect(createSpanSchema.safeParse({ ...span, start_time }).success).toBe(false);
    },
  );
});

test('at most a thousand messages are changed at once', () => {
  const content = { type: 'text', author: 'user', content: '' };
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, content]));
  const isTaken = (count: number) =>
    updateMessagesSchema.safeParse({ task_id: 't', updates: many(count) }).success;
  expect([isTaken(1000), isTaken(1001)]).toEqual([true, false]);
});

test('21.L: a command of an unknown type is refused with its name and the known types', () => {
  const refused = commandSchema.safeParse({ type: 'teleport', to: 'mars' });
  expect(refused.error?.issues[0]).toMatchObject({
    path: ['type'],
    message:
      'there is no command of the type "teleport". Known types: message, steer, approve, deny, tool_output, retry, abort, compact, withdraw, revoke',
  });
  for (const input of [{}, { type: { a: 1 } }, { type: 'x'.repeat(10_000) }])
    expect(commandSchema.safeParse(input).error?.issues[0]?.message.length).toBeLessThan(250);
  expect(commandSchema.safeParse(null).success).toBe(false);
});
