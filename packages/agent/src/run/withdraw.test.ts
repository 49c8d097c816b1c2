import type { JsonObject, LogRecord } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import {
  answer,
  createTestAgent,
  problemsLeftIn,
  session,
  textsOf,
} from '../testing/test-agent.ts';

const slowly = { pieces: 'character', pauseMs: 20 } as const;
const slow = { ...answer('Hello'), ...slowly };
const message = (when: string, text: string): JsonObject => ({
  ...{ type: 'message', when },
  items: [{ id: `item-${text}`, kind: 'user', parts: [{ kind: 'text', text }] }],
});
const withdraw = (key: string): JsonObject => ({ type: 'withdraw', key });
const consumedKeys = (records: readonly LogRecord[]) =>
  records.flatMap(({ fact }) => (fact?.type === 'command_consumed' ? fact.key : []));

describe('a withdrawn message', () => {
  test.each(['steer', 'follow_up'])('that was still queued is not used (%s)', async (when) => {
    const stage = createTestAgent([slow, 'Two.']);
    const { agent, log, provider, end, records } = stage;
    const run = agent.run('Go', { session });
    await stage.until('append_text');
    await log.submit(session, message(when, 'more'), 'm');
    await log.submit(session, withdraw('m'), 'w');
    const { items, text } = await end(run);
    expect([text, provider.requests.length, await problemsLeftIn(log)]).toEqual(['Hello', 1, []]);
    expect(items.flatMap(textsOf)).not.toContain('more');
    expect(consumedKeys(records)).toEqual(['w', 'm']);
  });

  test('does not affect the others', async () => {
    const stage = createTestAgent([slow, 'Two.']);
    const { agent, log, provider, end } = stage;
    const run = agent.run('Go', { session });
    await stage.until('append_text');
    await log.submit(session, message('follow_up', 'first'), 'm1');
    await log.submit(session, message('follow_up', 'second'), 'm2');
    await log.submit(session, withdraw('m1'), 'w');
    const { items } = await end(run);
    expect([provider.requests.length, await problemsLeftIn(log)]).toEqual([2, []]);
    expect(items.flatMap(textsOf)).toEqual(['Hello', 'second', 'Two.']);
  });

  test('that was already used stays, and the order of the consumed commands shows it', async () => {
    const stage = createTestAgent([slow, { ...answer('World'), ...slowly }]);
    const { agent, log, end, records } = stage;
    const run = agent.run('Go', { session });
    await stage.until('append_text');
    await log.submit(session, message('follow_up', 'more'), 'm');
    await stage.until('command_consumed');
    await log.submit(session, withdraw('m'), 'w');
    const { text } = await end(run);
    expect([text, await problemsLeftIn(log)]).toEqual(['World', []]);
    expect(consumedKeys(records)).toEqual(['m', 'w']);
  });

  test('together with an abort is not used by the next run', async () => {
    const stage = createTestAgent([slow, 'Two.']);
    const { agent, log, provider, end } = stage;
    const run = agent.run('Go', { session });
    await stage.until('append_text');
    await log.submit(session, message('steer', 'more'), 'm');
    await log.submit(session, withdraw('m'), 'w');
    await log.submit(session, { type: 'abort' }, 'a');
    expect((await end(run)).stop.reason).toBe('aborted');
    expect(await problemsLeftIn(log)).toEqual([]);
    const { items } = await end(agent.run('And now?', { session }));
    expect(items.flatMap(textsOf)).toEqual(['Two.']);
    expect(provider.requests).toHaveLength(2);
  });

  test('between runs is not used by the next', async () => {
    const { agent, log, end } = createTestAgent(['One.', 'Two.']);
    await end(agent.run('Go', { session }));
    await log.submit(session, message('follow_up', 'more'), 'm');
    await log.submit(session, withdraw('m'), 'w');
    const { items } = await end(agent.run('And now?', { session }));
    expect(items.flatMap(textsOf)).toEqual(['Two.']);
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('that does not exist or cannot be decoded has no effect', async () => {
    const stage = createTestAgent([slow]);
    const { agent, log, end } = stage;
    const run = agent.run('Go', { session });
    await stage.until('append_text');
    await log.submit(session, withdraw('none'), 'w1');
    await log.submit(session, { type: 'withdraw' }, 'w2');
    expect([(await end(run)).text, await problemsLeftIn(log)]).toEqual(['Hello', []]);
  });
});
