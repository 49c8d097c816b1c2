import { countingIds, type Item, itemId } from '@millrace/core';
import { exportSession, importSession, type Log, memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { watchRejections } from '../../../providers/src/testing/watch-rejections.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  pause,
  problemsLeftIn,
  resultTexts,
  session,
  type TestAgentOptions,
  textsOf,
  tool,
  types,
  untilTrue,
} from '../testing/test-agent.ts';
import { withAppends } from '../testing/test-doubles.ts';
import { flushPendingWork, VirtualClock } from '../testing/virtual-time.ts';

watchRejections();

const said = (id: string, text: string): Item => ({
  ...{ id: itemId(id), kind: 'user' },
  parts: [{ kind: 'text', text }],
});
const one = call('c1', 't', {});

/** Another process takes the session and releases it. */
async function takeAway(log: Log): Promise<void> {
  const driver = await log.open(session, { takeOver: true });
  await driver.release();
}

describe('user code in a request', () => {
  /** Throws once. */
  const failing = (thrown: unknown) => {
    let isBroken = true;
    return () => {
      if (!isBroken) return;
      isBroken = false;
      throw thrown;
    };
  };
  const secret = new Error('sk-secret');
  const hooks: readonly [string, (fail: () => void) => TestAgentOptions][] = [
    ['the instructions', (fail) => ({ instructions: () => void fail() as undefined })],
    [
      'instructions that take time',
      (fail) => ({ instructions: async () => void fail() as undefined }),
    ],
    ['a filter', (fail) => ({ contextFilters: [(items) => items.filter(() => fail() ?? true)] })],
  ];

  test.each(hooks)('ends the run properly if it throws: %s', async (_what, optionsOf) => {
    for (const thrown of [secret, Object.create(null)]) {
      const stage = createTestAgent(['One.', 'Two.'], optionsOf(failing(thrown)));
      const { agent, end, log, provider, records } = stage;
      const { cause, ...result } = await end(agent.run('First', { session }));
      expect(result).toMatchObject({ stop: { reason: 'error' }, error: { code: 'failed' } });
      expect(cause).toBe(thrown);
      expect(JSON.stringify([result, records])).not.toContain('sk-secret');
      expect(await problemsLeftIn(log)).toEqual([]);
      const next = agent.run('Second', { session });
      expect([(await end(next)).text, provider.requests.length]).toEqual(['One.', 1]);
      const started = records.findLast(({ fact }) => fact?.type === 'run_started');
      expect(started?.fact).toMatchObject({ runId: next.id });
    }
  });

  test('does not block an abort if it never settles', async () => {
    const stage = createTestAgent(['One.'], { instructions: never });
    const run = stage.agent.run('Go', { session });
    await stage.until('turn_started');
    await run.abort();
    expect((await stage.end(run)).stop.reason).toBe('aborted');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('does not block an abort either if it is the output validation', async () => {
    const part = { kind: 'structured', value: 1 } as const;
    const output = z.number().refine(never);
    const stage = createTestAgent([{ content: { parts: [part] } }], { output });
    const run = stage.agent.run('Go', { session });
    await stage.until('turn_finished');
    await flushPendingWork();
    await run.abort();
    expect((await stage.end(run)).stop.reason).toBe('aborted');
  });

  test.each<[string, () => unknown]>([
    ['no tool at once', () => createTestAgent([], { limits: { maxParallelTools: 0 } })],
    [
      'tools at once that are no number',
      () => createTestAgent([], { limits: { maxParallelTools: Number.NaN } }),
    ],
    ['no turns', () => createTestAgent([], { limits: { maxTurns: 0 } })],
    ['no attempt', () => createTestAgent([], { retry: { maxAttempts: 0 } })],
    ['less than no time', () => createTestAgent([], { retry: { toolGraceMs: -1 } })],
  ])('is rejected at once if it is invalid: %s', (_what, make) => {
    expect(make).toThrow(expect.objectContaining({ code: 'bad_option' }));
  });
});

describe('a session whose process died', () => {
  test('in the middle of an answer has each question answered once', async () => {
    for (const onInterrupted of ['keep', 'retry'] as const) {
      const fault = { type: 'stall', after: 4 } as const;
      const half = { ...answer('Half an answer.'), fault, pieces: 'token' } as const;
      const dead = createTestAgent([half]);
      const { log, clock } = dead;
      const run = dead.agent.run('First', { session });
      await dead.until('append_text', 3);
      await takeAway(log);
      expect((await dead.end(run)).stop).toEqual({ reason: 'error', cause: 'fenced' });
      const { agent, end, provider } = createTestAgent(['One.', 'Two.'], {
        log,
        clock,
        onInterrupted,
      });
      const { text } = await end(agent.run('Second', { session }));
      const sent = provider.requests.map(({ request }) => request.items.flatMap(textsOf));
      const isKept = onInterrupted === 'keep';
      expect(text).toBe(isKept ? 'One.' : 'Two.');
      if (isKept) expect(sent).toEqual([['First', 'Half an answer.', 'Second']]);
      else expect(sent).toEqual([['First'], ['First', 'One.', 'Second']]);
      expect(await problemsLeftIn(log)).toEqual([]);
    }
  });

  test('during an abort answers the next input', async () => {
    const dead = createTestAgent([answer(one)], { tools: [tool('t', never)] });
    const { log, clock } = dead;
    const run = dead.agent.run('First', { session });
    await dead.until('tool_execution_started');
    await run.abort('ctrl-c');
    await dead.until('aborted');
    await takeAway(log);
    await dead.end(run);
    const { agent, end } = createTestAgent(['Two.'], { log, clock, tools: [tool('t', never)] });
    expect(await end(agent.run('Second', { session }))).toMatchObject({ text: 'Two.' });
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('or failed does not count its turns towards the limits of the next run', async () => {
    let asked = 0;
    const instructions = () => (++asked === 3 ? expect.fail('no') : undefined);
    const calls = [1, 2, 3].map((n) => answer(call(`c${n}`, 't', n)));
    const tools = [tool('t', async () => 'ok')];
    const { agent, end } = createTestAgent([...calls, 'Done.'], {
      ...{ tools, instructions, limits: { maxTurns: 3 } },
    });
    expect((await end(agent.run('First', { session }))).stop.reason).toBe('error');
    expect((await end(agent.run('Second', { session }))).text).toBe('Done.');
  });

  test('in a tool has its results in call order', async () => {
    const slow = tool('t', async (input) => (input === 1 ? never() : 'two'));
    const calls = answer(call('c1', 't', 1), call('c2', 't', 2));
    const dead = createTestAgent([calls], { tools: [slow], retry: { toolGraceMs: 0 } });
    const { log, clock } = dead;
    const run = dead.agent.run('Go', { session });
    await dead.until('tool_execution_finished');
    await takeAway(log);
    await dead.end(run);
    const { agent, end, provider } = createTestAgent(['Done.'], { log, clock, tools: [slow] });
    await end(agent.resume(session));
    const [first, second] = resultTexts(provider.requests[0]?.request.items ?? []);
    expect([first, second]).toEqual([expect.stringContaining('nobody knows'), 'two']);
    expect(await problemsLeftIn(log)).toEqual([]);
  });
});

describe('a run that can no longer write', () => {
  test('stops its tools and its request when another process takes the session', async () => {
    const clock = new VirtualClock();
    let isTold = false;
    const work = tool('t', async (_input, { signal }) => {
      await pause(clock, 1e6, signal);
      isTold = signal.aborted;
    });
    const stage = createTestAgent([answer(one), 'Never said.'], { clock, tools: [work] });
    const run = stage.agent.run('Go', { session });
    await stage.until('tool_execution_started');
    const other = await stage.log.open(session, { takeOver: true });
    await untilTrue(clock, () => isTold);
    const { stop } = await stage.end(run);
    expect([stop, isTold]).toEqual([{ reason: 'error', cause: 'fenced' }, true]);
    expect(stage.provider.requests).toHaveLength(1);
    const { records } = await other.append([]);
    expect(types(records).at(-1)).toBe('tool_execution_started');
    await other.release();
  });

  test('at any record publishes nothing more, requests nothing more and leaves no tool running', async () => {
    let appends = Number.POSITIVE_INFINITY;
    for (let at = 1; at < appends; at++) {
      const clock = new VirtualClock();
      const log = memoryLog({ clock });
      let [count, told, asked, running] = [0, 0, 0, 0];
      let before: Promise<unknown> = Promise.resolve();
      // Appends before the failure are not stored. Later ones would be.
      const flaky = withAppends(log, (append) => {
        const isLast = ++count === at;
        const stored = before.then(isLast ? fail : append);
        before = stored;
        return stored;
      });
      const fail = async () => {
        await flushPendingWork();
        [told, asked] = [stage.records.length, stage.provider.requests.length];
        setImmediate(() => {
          before = Promise.resolve();
        });
        throw new Error('the disk is full');
      };
      const work = tool('t', async (_input, { update, signal }) => {
        running++;
        for (let left = 3; left > 0; left--) await pause(clock, 3, signal).then(() => update('.'));
        running--;
      });
      const stage = createTestAgent([answer('Hi', one, call('c2', 't', {})), 'Done.'], {
        ...{ clock, log: flaky, tools: [work] },
      });
      const { stop } = await stage.end(stage.agent.run('Go', { session }));
      if (count < at) appends = count;
      else {
        expect([stop.reason, running], `at ${at}`).toEqual(['error', 0]);
        const after = [stage.records.length, stage.provider.requests.length];
        expect(after, `at ${at}`).toEqual([told, asked]);
      }
      const next = createTestAgent(['And on.', 'And on.'], { clock, log, tools: [work] });
      expect((await next.end(next.agent.run('Now?', { session }))).text, `${at}`).toBe('And on.');
      expect(await problemsLeftIn(log), `at ${at}`).toEqual([]);
    }
    expect(appends).toBeGreaterThan(20);
  });
});

describe('an item id that the session already has', () => {
  test.each<[string, (assistant: Item) => readonly Item[]]>([
    ['of something said', () => [said('u1', 'Again')]],
    ['of an answer', ({ id }) => [said(id, 'Again')]],
    ['twice in what is said', () => [said('u2', 'One'), said('u2', 'Two')]],
  ])('is rejected, and nothing is written: %s', async (_what, inputOf) => {
    const { agent, end, log, provider } = createTestAgent(['Yes.', 'No.']);
    const { items } = await end(agent.run(said('u1', 'Go'), { session }));
    const [assistant] = items;
    if (assistant === undefined) return expect.fail('there is no answer');
    const before = await log.info(session);
    const { stop } = await end(agent.run(inputOf(assistant), { session }));
    expect(stop).toEqual({ reason: 'error', cause: 'bad_option' });
    expect([(await log.info(session))?.through, provider.requests.length]).toEqual([
      before?.through,
      1,
    ]);
    const lines: string[] = [];
    for await (const line of exportSession(log, session)) lines.push(line as string);
    await importSession(memoryLog(), lines);
  });

  test('is rejected, even if two processes both count from one', async () => {
    const first = createTestAgent(['One.'], { ids: countingIds() });
    await first.end(first.agent.run('Go', { session }));
    const second = createTestAgent(['Two.'], {
      ids: countingIds(),
      log: first.log,
      clock: first.clock,
    });
    const { error } = await second.end(second.agent.run('Go', { session }));
    expect(error?.code).toBe('bad_option');
    expect(await problemsLeftIn(first.log)).toEqual([]);
  });
});
