import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import type { Run } from '../contract/run.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  pause,
  problemsLeftIn,
  resultTexts,
  session,
  tool,
} from '../testing/test-agent.ts';
import { withDelay, withMethods } from '../testing/test-doubles.ts';
import { runToEnd, VirtualClock } from '../testing/virtual-time.ts';
import { subAgent } from '../tool/agent-tools.ts';

const one = call('c1', 't', {});

describe('a tool that has to stop', () => {
  test('does not start if it still waits for a free slot', async () => {
    const clock = new VirtualClock();
    const ran: unknown[] = [];
    const rm = tool('rm', async (input) => {
      ran.push(input);
      await pause(clock, 100);
      return 'deleted';
    });
    const calls = [1, 2, 3].map((n) => call(`c${n}`, 'rm', n));
    const limits = { maxParallelTools: 1 };
    const stage = createTestAgent([answer(...calls)], { clock, tools: [rm], limits });
    const run = stage.agent.run('Go', { session });
    await stage.until('tool_execution_started');
    await run.abort('stop');
    const { stop, items } = await stage.end(run);
    expect([stop.reason, ran]).toEqual(['aborted', [1]]);
    const early = 'It was stopped before it was done.';
    expect(resultTexts(items)).toEqual(['deleted', early, early]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('cleans up and stops if it is a generator', async () => {
    const clock = new VirtualClock();
    let [ticks, isClean] = [0, false];
    const watch = tool('t', async function* () {
      try {
        for (;;) {
          await pause(clock, 10);
          ticks++;
          yield 'tick ';
        }
      } finally {
        isClean = true;
      }
    });
    const stage = createTestAgent([answer(one)], { clock, tools: [watch] });
    const run = stage.agent.run('Go');
    await stage.until('append_text', 3);
    await run.abort();
    expect((await stage.end(run)).stop.reason).toBe('aborted');
    const atEnd = ticks;
    await runToEnd(clock, pause(clock, 1000));
    expect([ticks, isClean]).toEqual([atEnd, true]);
  });

  const stored = (put: (bytes: Uint8Array) => Promise<never>) => {
    const { blobs } = memoryLog();
    return { blobs: { ...blobs, get: (hash: string) => blobs.get(hash), put } };
  };
  const long = tool('t', async () => 'x'.repeat(50), { maxOutputLength: 10 });
  const deaf = async function* () {
    for (;;) yield await never();
  };
  test.each([
    ['it never ends', tool('t', never)],
    ['it is a generator that never goes on', tool('t', deaf)],
    ['its output is never stored', long],
  ])('does not block the run beyond the grace period if %s', async (_how, t) => {
    const clock = new VirtualClock();
    const log = withMethods(memoryLog({ clock }), stored(never) as never);
    const stage = createTestAgent([answer(one, call('c2', 't', {}))], { clock, log, tools: [t] });
    const run = stage.agent.run('Go', { session });
    await stage.until('tool_execution_started', 2);
    await run.abort();
    const { stop, items } = await stage.end(run);
    expect([stop.reason, resultTexts(items).length]).toEqual(['aborted', 2]);
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('has one result if it is aborted while its early result is stored', async () => {
    const clock = new VirtualClock();
    const inner = memoryLog({ clock });
    const put = (bytes: Uint8Array) => pause(clock, 100).then(() => inner.blobs.put(bytes));
    const slow = withMethods(inner, { blobs: { ...inner.blobs, put } as never });
    let run: Run | undefined;
    const log = withDelay(slow, async (drafts) => {
      if (!drafts.some(({ fact }) => fact?.type === 'response_finished')) return;
      run?.abort().catch(() => {});
      await pause(clock, 20);
    });
    const early = tool('t', async () => 'x'.repeat(50), { maxOutputLength: 10, effects: 'none' });
    const { agent, end } = createTestAgent(
      [answer(one)],
      { clock, log, tools: [early] },
      { pauseMs: 5 },
    );
    run = agent.run('Go', { session });
    expect((await end(run)).stop.reason).toBe('aborted');
    expect(await problemsLeftIn(inner)).toEqual([]);
  });

  test('because of a timeout gets an error note, even if it returns normally', async () => {
    const clock = new VirtualClock();
    const tidy = tool('t', (_input, { signal }) => pause(clock, 1e6, signal), { timeoutMs: 100 });
    const child = createTestAgent([{ ...answer('Hm'), fault: { type: 'stall', after: 2 } }], {
      clock,
    });
    const helper = { name: 'helper', description: 'Helps', agent: child.agent, timeoutMs: 100 };
    const calls = answer(one, call('c2', 'helper', { task: 'Help' }));
    const { agent, end } = createTestAgent([calls, 'Done.'], {
      clock,
      tools: [tidy, subAgent(helper)],
    });
    const texts = resultTexts((await end(agent.run('Go'))).items);
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).toMatch(/^It took longer than 100 ms and was stopped\./);
  });
});
