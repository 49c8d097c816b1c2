import { type JsonObject, type SessionId, sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { eventsOf } from '../testing/read-log.ts';
import { useTestServer } from '../testing/test-server.ts';
import { VirtualClock } from '../testing/virtual-time.ts';

const session = sessionId('s');
const stage = useTestServer();

/** A session that a later version has written to. */
async function written(log: Log, raw: JsonObject, into: SessionId = session): Promise<void> {
  const provider = scriptedProvider(['It rains.']);
  await createAgent({ provider, log }).run('The weather?', { session: into }).result;
  const driver = await log.open(into);
  await driver.append([{ turn: 0, attempt: 0, fact: { type: 'unknown', raw } }]);
  await driver.release();
}

const treaty = { type: 'treaty_signed', must_understand: true, secret: 'do not tell' };

describe('a session with an unknown must_understand fact', () => {
  const ways = ['run', 'resume'] as const;
  const stores = { memory: () => memoryLog(), sqlite: () => stage.twoLogs()[0] };
  const cases = ways.flatMap((way) => Object.keys(stores).map((store) => [way, store] as const));

  test.each(cases)('is refused by %s, is not changed, and is released (%s)', async (way, store) => {
    const log = stores[store as keyof typeof stores]();
    await written(log, treaty);
    const before = await log.read(session);
    const provider = scriptedProvider(['No.']);
    const told: unknown[] = [];
    const agent = createAgent({ provider, log, observers: [(record) => void told.push(record)] });
    const run = way === 'run' ? agent.run('On', { session }) : agent.resume(session);
    const { stop, error, items, text } = await run.result;
    expect(stop).toEqual({ reason: 'error', cause: 'not_understood' });
    expect(error).toMatchObject({ code: 'not_understood' });
    expect(error?.message).toContain('treaty_signed');
    expect(error?.message).not.toContain('do not tell');
    expect([items, text, told, await eventsOf(run)]).toEqual([[], '', [], []]);
    expect(provider.requests).toEqual([]);
    expect(await log.read(session)).toEqual(before);
    expect((await log.info(session))?.lease).toBeUndefined();
  });

  // Regression: an empty append changed the session's time, and every run starts with one.
  test('keeps its modification time', async () => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    await written(log, treaty);
    const before = await log.info(session);
    clock.advance(1000);
    await createAgent({ provider: scriptedProvider([]), log }).resume(session).result;
    // Opening the session starts an epoch, but it changes no record.
    expect(await log.info(session)).toEqual({ ...before, epoch: expect.any(Number) });
  });

  test('can still be read', async () => {
    const log = memoryLog();
    await written(log, treaty);
    const said = transcript(await snapshot(log, session)).map(({ kind }) => kind);
    expect(said).toEqual(['user', 'assistant']);
  });

  test('cannot be steered or approved, and the error says why', async () => {
    const log = memoryLog();
    await written(log, treaty);
    const run = createAgent({ provider: scriptedProvider([]), log }).resume(session);
    await expect(run.steer('On')).rejects.toMatchObject({ code: 'not_understood' });
    await expect(run.abort()).resolves.toBeUndefined();
    await run.result;
    expect((await log.info(session))?.hasWork).toBe(false);
  });

  test('can continue in a fork from before the fact', async () => {
    const log = memoryLog();
    await written(log, treaty);
    const agent = createAgent({ provider: scriptedProvider(['It turned.', 'No.']), log });
    const { text, stop } = await agent.regenerate(session).result;
    expect([text, stop.reason]).toEqual(['It turned.', 'stop']);
    const { through } = (await log.info(session)) ?? { through: 0 };
    const into = sessionId('whole');
    await log.fork(session, { into, through });
    expect((await agent.run('On', { session: into }).result).stop.cause).toBe('not_understood');
  });
});

describe('an unknown fact', () => {
  test.each([
    { type: 'weather_noted' },
    { type: 'weather_noted', must_understand: false },
    { type: 'weather_noted', must_understand: 'true' },
  ])('does not prevent a run if it is %o', async (raw) => {
    const log = memoryLog();
    await written(log, raw);
    const provider = scriptedProvider(['It still turns.']);
    const { text, stop } = await createAgent({ provider, log }).run('And now?', { session }).result;
    expect([text, stop.reason]).toEqual(['It still turns.', 'stop']);
  });
});
