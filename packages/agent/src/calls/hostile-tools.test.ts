import { toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { watchRejections } from '../../../providers/src/testing/watch-rejections.ts';
import type { ToolContext } from '../contract/tool.ts';
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
  types,
} from '../testing/test-agent.ts';
import { VirtualClock } from '../testing/virtual-time.ts';

watchRejections();

const one = call('c1', 't', {});
const retryAtOnce = { retry: { baseDelayMs: 0, toolGraceMs: 100 } };

/** Runs a tool once and returns the result for the model. */
async function resultOf(execute: () => unknown, more: Parameters<typeof tool>[2] = {}) {
  const { agent, end, log } = createTestAgent([answer(one), 'Done.'], {
    tools: [tool('t', execute, more)],
  });
  const { stop, items } = await end(agent.run('Go', { session }));
  expect(stop).toEqual({ reason: 'stop' });
  expect(await problemsLeftIn(log)).toEqual([]);
  const [result] = items[1]?.parts ?? [];
  return result?.kind === 'tool_result' ? result : expect.fail('there is no result');
}

describe('the return value of a tool', () => {
  class Point {
    readonly x = 1;
  }
  const nested = Array.from({ length: 2000 }).reduce((inner) => [inner], 1 as unknown);
  const cyclic: { me?: unknown } = {};
  cyclic.me = cyclic;

  test.each<[string, unknown, string]>([
    ['a field that is undefined', { a: undefined, b: 1 }, '{"b":1}'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['an instance of a class', new Point(), '{"x":1}'],
    ['a map', new Map([[1, 2]]), '{}'],
    ['an address', new URL('http://a/b'), '"http://a/b"'],
    ['not a number', Number.NaN, 'null'],
    ['not a number, inside', { a: Number.NaN }, '{"a":null}'],
    ['bytes', new Uint8Array(2), '{"0":0,"1":0}'],
    ['a function', () => 1, 'Done.'],
    ['a symbol', Symbol('s'), 'Done.'],
    ['what has no JSON', { toJSON: () => undefined }, 'Done.'],
    ['nothing', undefined, 'Done.'],
    ['null', null, 'null'],
    ['a value too deep to be kept', nested, JSON.stringify(nested)],
  ])('may be %s, and is encoded as JSON', async (_what, returned, text) => {
    expect(await resultOf(async () => returned)).toMatchObject({ text, isError: false });
    // A tool need not return a promise.
    expect(await resultOf(() => returned)).toMatchObject({ text, isError: false });
  });

  test.each<[string, unknown]>([
    ['a cycle', cyclic],
    ['a number without JSON', { a: 5n }],
    ['a full result whose value is a date', { output: { text: 'x', value: new Date() } }],
    ['a full result whose error is a text', { output: { text: 'x', isError: 'yes' } }],
    [
      'a full result with half a picture',
      { output: { text: 'x', attachments: [{ kind: 'media' }] } },
    ],
    ['a full result without pictures', { output: { text: 'x', attachments: null } }],
    ['a full result with a foreign word on it', { output: { text: 'x', metadata: { a: 5n } } }],
    ['a value of 20 MB', { output: { text: 'x', value: 'y'.repeat(20_000_000) } }],
  ])('is an error for the model if it is %s', async (_what, returned) => {
    expect(await resultOf(async () => returned)).toMatchObject({ isError: true });
  });

  test('is not sent in full if it is clipped', async () => {
    const long = tool('t', async () => 'x'.repeat(100_000), { maxOutputLength: 1000 });
    const { agent, end, provider } = createTestAgent([answer(one), 'Done.'], { tools: [long] });
    await end(agent.run('Go'));
    const sent = JSON.stringify(provider.requests[1]?.request.items);
    expect(sent).toContain('characters are left out here');
    expect(sent.length).toBeLessThan(3000);
  });

  test('ignores an output length that is not a number', () => {
    const bad = { code: 'bad_option' };
    for (const maxOutputLength of [Number.NaN, -1])
      expect(() => tool('t', never, { maxOutputLength })).toThrow(expect.objectContaining(bad));
  });
});

describe('an error that a tool throws', () => {
  const silent = 'It failed without saying why.';

  test.each<[string, unknown, string]>([
    ['without a prototype', Object.create(null), silent],
    ['that cannot be written', { toString: () => never }, silent],
    ['that throws when it is asked', { toString: () => expect.fail('asked') }, silent],
    ['whose message is no text', Object.assign(new Error(), { message: { a: 1 } }), silent],
    ['without a message', Object.assign(new Error(), { message: undefined }), silent],
    ['half a character', new Error('\ud800'), '\ufffd'],
  ])('is a result, even if it is %s', async (_what, thrown, text) => {
    const fails = async () => Promise.reject(thrown);
    expect(await resultOf(fails)).toMatchObject({ text, isError: true });
  });

  test('is clipped like a return value', async () => {
    const { text } = await resultOf(() => expect.fail('z'.repeat(1_000_000)));
    expect(text.length).toBeLessThan(31_000);
  });

  test('is a result if the input validation throws it, even with 20 MB of text', async () => {
    const huge = z.unknown().refine(() => false, 'y'.repeat(20_000_000));
    const throws = z.unknown().refine(() => {
      throw Object.create(null);
    });
    for (const input of [huge, throws]) {
      const { text, isError } = await resultOf(never, { input: input as never });
      expect(isError).toBe(true);
      expect(text.length).toBeLessThan(11_000);
    }
  });

  test('is a result if the hand-off reason throws it', async () => {
    const other = createTestAgent(['Hello.'], { name: 'other' });
    const handsOff = { to: () => other.agent, reason: () => expect.fail('no') };
    await resultOf(async () => 'handed over', { handsOff });
  });
});

describe('the progress of a tool', () => {
  // The first request fails while the tool runs. The tool belongs to that attempt only.
  const superseded = {
    ...answer(one, 'and more that nobody will hear'),
    fault: { type: 'error', after: 3, error: 'overloaded' },
    pauseMs: 20,
  } as const;

  test.each([
    ['does not stop when its signal aborts', never],
    ['stops at once, and leaves something behind that tells on', () => 'stopped'],
  ])('has no effect if its answer is superseded and it %s', async (_how, stop) => {
    const clock = new VirtualClock();
    const chatty = tool(
      't',
      async (_input, { update, signal }) => {
        const tell = () => {
          update('tick ');
          clock.after(10, tell);
        };
        tell();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return stop();
      },
      { effects: 'none' },
    );
    const script = [superseded, { ...answer('A long answer.'), pieces: 'character', pauseMs: 50 }];
    const stage = createTestAgent([...script, 'And yes.'] as never, {
      ...retryAtOnce,
      ...{ clock, tools: [chatty] },
    });
    const { agent, end, log, records } = stage;
    expect((await end(agent.run('Go', { session }))).text).toBe('A long answer.');
    expect(types(records)).toContain('attempt_superseded');
    expect((await end(agent.run('And now?', { session }))).text).toBe('And yes.');
    expect(await problemsLeftIn(log)).toEqual([]);
  });

  test('is ignored after the result', async () => {
    let say: ToolContext['update'] = () => expect.fail('it did not run');
    const talker = tool('t', async (_input, { update }) => {
      say = update;
    });
    const stage = createTestAgent([answer(one), { ...answer('Done.'), pauseMs: 100 }], {
      tools: [talker],
    });
    const run = stage.agent.run('Go', { session });
    await stage.until('tool_execution_finished');
    say('too late');
    await stage.end(run);
    expect(JSON.stringify(stage.records)).not.toContain('too late');
    expect(await problemsLeftIn(stage.log)).toEqual([]);
  });

  test('is written in joined batches and up to a limit', async () => {
    const flood = tool('t', async (_input, { update }) => {
      for (let left = 300_000; left > 0; left--) update('tick ');
      update(5 as never);
      return 'ok';
    });
    const { agent, end, records } = createTestAgent([answer(one), 'Done.'], { tools: [flood] });
    expect(resultTexts((await end(agent.run('Go'))).items)).toEqual(['ok']);
    const told = records.flatMap(({ delta }) =>
      delta?.type === 'append_text' && delta.chunk.startsWith('tick') ? delta.chunk : [],
    );
    expect(told.length).toBeLessThan(10);
    expect(told.join('').length).toBeGreaterThan(500_000);
    expect(told.join('').length).toBeLessThan(1_100_000);
  });
});

describe('many calls', () => {
  test('are limited, even if they start while the response streams', async () => {
    const clock = new VirtualClock();
    let [now, most] = [0, 0];
    const look = async () => {
      most = Math.max(most, ++now);
      await pause(clock, 50);
      now--;
    };
    const calls = Array.from({ length: 20 }, (_, n) => call(`c${n}`, 't', n));
    const tools = [tool('t', look, { effects: 'none' })];
    const limits = { maxParallelTools: 2 };
    const { agent, end } = createTestAgent([answer(...calls), 'Done.'], { clock, tools, limits });
    expect(resultTexts((await end(agent.run('Go'))).items)).toHaveLength(20);
    expect(most).toBe(2);
  });

  test.each(['external', 'none'] as const)(
    'with the same id are kept apart (effects %s)',
    async (effects) => {
      const echo = tool('t', async (input) => `ran ${input}`, { effects });
      const { agent, end, log } = createTestAgent(
        [answer(call('c1', 't', 1), call('c1', 't', 2)), 'Done.'],
        {
          tools: [echo],
        },
      );
      const { items, stop } = await end(agent.run('Go', { session }));
      expect([stop.reason, resultTexts(items)]).toEqual(['stop', ['ran 1', 'ran 2']]);
      expect(items[0]?.parts[0]).toMatchObject({ toolCallId: toolCallId('c1') });
      expect(await problemsLeftIn(log)).toEqual([]);
    },
  );
});
