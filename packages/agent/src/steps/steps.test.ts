import { setImmediate as turn } from 'node:timers/promises';
import { type LogRecord, sessionId, toolCallId, transcript } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { createProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { readRecords } from '../history/fork-before.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { foldRecords } from '../testing/read-log.ts';
import { StepRunner } from '../testing/step-runner.ts';
import { defineTool } from '../tool/define-tool.ts';
import { advance, callStep, commandStep, requestStep, submitStep } from './index.ts';

const session = sessionId('s');
const look = call('c1', 'look', { at: 'door' });
const listen = call('c2', 'look', { at: 'gate' });

function lookTool(
  execute: (at: string) => Promise<string>,
  afterCrash: 'repeat' | 'fail' = 'fail',
) {
  const about = { name: 'look', description: 'Looks', input: z.object({ at: z.string() }) };
  return defineTool({ ...about, afterCrash, execute: ({ at }) => execute(at) });
}

async function texts(log: Log): Promise<readonly string[]> {
  const records = await sound(log);
  return transcript(foldRecords(session, records)).flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? [part.text] : [])),
  );
}

/** The records, after a check of the loop's laws. */
async function sound(log: Log): Promise<readonly LogRecord[]> {
  const records = await readRecords(log, session);
  expect(findLogProblems(session, records)).toEqual([]);
  return records;
}

const factsIn = (records: readonly LogRecord[]) => records.flatMap(({ fact }) => fact?.type ?? []);

async function until(log: Log, isThere: (records: readonly LogRecord[]) => boolean) {
  for (;;) {
    const records = (await log.info(session)) ? await readRecords(log, session) : [];
    if (isThere(records)) return;
    await turn();
  }
}
const saying = (text: string) => (records: readonly LogRecord[]) =>
  records
    .map(({ delta }) => (delta?.type === 'append_text' ? delta.chunk : ''))
    .join('')
    .includes(text);

describe('a distributed run', () => {
  test('has the same result as a run in one process', async () => {
    const script = [{ content: { parts: [look, listen] } }, 'Both are fine.'];
    const tools = [lookTool(async (at) => `the ${at} is fine`)];
    const [one, other] = [memoryLog(), memoryLog()];
    const direct = createAgent({ provider: scriptedProvider(script), tools, log: one });
    await direct.run('Look.', { session }).result;
    const agent = createAgent({ provider: scriptedProvider(script), tools, log: other });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    const end = await hand.drive();
    expect([end.text, end.stop]).toEqual(['Both are fine.', { reason: 'stop' }]);
    expect(await texts(other)).toEqual(await texts(one));
    expect((await other.info(session))?.lease).toBeUndefined();
  });

  test('each step may run in another process with an empty cache', async () => {
    const log = memoryLog();
    const provider = scriptedProvider([{ content: { parts: [look] } }, 'Fine.']);
    // Another log object acts as another process, because folds are cached per log object.
    const inOther = () => {
      const get = (target: Log, key: keyof Log) => {
        const value = target[key];
        return typeof value === 'function' ? value.bind(target) : value;
      };
      const other = new Proxy(log, { get: get as never });
      const tools = [lookTool(async (at) => `the ${at} is fine`)];
      return createAgent({ provider, tools, log: other });
    };
    const claim = (step: number) => ({ owner: 'w', life: '1', step, attempt: 1 });
    const runId = 'r' as never;
    const said = { type: 'message', when: 'follow_up', items: [] } as const;
    const items = [{ id: 'i', kind: 'user', parts: [{ kind: 'text', text: 'Look.' }] }] as never;
    await submitStep(inOther(), { session, command: { ...said, items }, key: 'k' });
    const first = await advance(inOther(), { session, claim: claim(1), runId });
    expect(first.plan).toEqual({ do: 'request', turn: 1 });
    await requestStep(inOther(), { session, epoch: first.epoch, turn: 1 });
    const second = await advance(inOther(), { session, claim: claim(2), runId });
    const { toolCallId: id } = look;
    await callStep(inOther(), {
      session,
      epoch: second.epoch,
      turn: 1,
      attempt: 1,
      toolCallId: id,
    });
    const third = await advance(inOther(), { session, claim: claim(3), runId });
    await requestStep(inOther(), { session, epoch: third.epoch, turn: 2 });
    const { plan } = await advance(inOther(), { session, claim: claim(4), runId });
    expect(plan).toMatchObject({ do: 'done', text: 'Fine.', hasMoreInput: false });
    expect(await texts(log)).toEqual(['Look.', 'the door is fine', 'Fine.']);
  });

  test('a repeated step finds its earlier work, and does nothing twice', async () => {
    const log = memoryLog();
    let looked = 0;
    const tools = [lookTool(async (at) => `${at} ${++looked}`)];
    const provider = scriptedProvider([{ content: { parts: [look] } }, 'Fine.']);
    const agent = createAgent({ provider, tools, log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    await hand.submitMessage('Look.');
    for (let plan = await hand.advance(); ; plan = await hand.advance()) {
      expect(await hand.advance()).toEqual(plan);
      if (plan.do === 'done') break;
      if (plan.do === 'request')
        expect(await hand.request(plan.turn)).toEqual(await hand.request(plan.turn));
      else expect(await hand.calls(plan)).toEqual(await hand.calls(plan));
    }
    provider.assertUsedUp();
    expect(await texts(log)).toEqual(['Look.', 'door 1', 'Fine.']);
  });

  test('returns a limited amount of items by value, and the rest by reference', async () => {
    const log = memoryLog();
    const hand = new StepRunner(
      createAgent({ provider: scriptedProvider(['Fine.']), log }),
      session,
    );
    for (let said = 0; said < 200; said++)
      await hand.submitMessage('x'.repeat(15_000), `${said}`, 'steer');
    const advanced = await hand.advanced();
    expect(advanced.settled).toHaveLength(200);
    expect(JSON.stringify(advanced).length).toBeLessThan(500_000);
  });

  test('returns finished items by value, and large ones by reference', async () => {
    const log = memoryLog();
    const provider = scriptedProvider(['x'.repeat(40_000)]);
    const hand = new StepRunner(createAgent({ provider, log }), session);
    await hand.submitMessage('Say much.');
    const { settled } = await hand.advanced();
    expect(settled.map(({ by }) => by)).toEqual(['value']);
    const { item } = await hand.request(1);
    expect(item).toEqual({
      ...{ by: 'reference', itemId: expect.any(String), session },
      through: (await log.info(session))?.through,
    });
    const { plan } = await hand.advanced();
    expect(plan).toMatchObject({ do: 'done', isClipped: true });
  });
});

describe('a request', () => {
  test('that is repeated supersedes and fences the dead attempt', async () => {
    const log = memoryLog();
    const script = [
      {
        content: { parts: ['Half an answer'] },
        fault: { type: 'stall', after: 2 },
        pieces: 'token',
      },
      'A whole answer.',
    ] as const;
    const agent = createAgent({ provider: scriptedProvider(script), log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Answer.');
    await hand.advance();
    const zombie = hand.request(1);
    zombie.catch(() => {});
    await until(log, saying('Half an'));
    const { item, attempt, stop } = await hand.request(1);
    expect([attempt, stop, item?.by]).toEqual([2, { reason: 'stop' }, 'value']);
    await expect(zombie).rejects.toMatchObject({ code: 'fenced' });
    expect(await hand.advance()).toMatchObject({ do: 'done', text: 'A whole answer.' });
    expect(await texts(log)).toEqual(['Answer.', 'A whole answer.']);
    const facts = factsIn(await sound(log));
    expect(facts.filter((type) => type === 'attempt_superseded')).toHaveLength(1);
  });

  test('whose provider fails is retried by the agent’s settings', async () => {
    const log = memoryLog();
    const error = { type: 'error', after: 2, error: 'overloaded' } as const;
    const provider = scriptedProvider([
      { content: { parts: ['Hal', 'f'] }, fault: error },
      'Whole.',
    ]);
    const agent = createAgent({ provider, log, retry: { baseDelayMs: 0 } });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Answer.');
    expect(await hand.drive()).toMatchObject({ text: 'Whole.', stop: { reason: 'stop' } });
    expect(factsIn(await sound(log))).toContain('retry_scheduled');
    expect(await texts(log)).toEqual(['Answer.', 'Whole.']);
  });

  test('that is stopped keeps the partial answer', async () => {
    const log = memoryLog();
    const stall = { type: 'stall', after: 2 } as const;
    const provider = scriptedProvider([
      { content: { parts: ['Half an answer'] }, fault: stall, pieces: 'token' },
    ]);
    const hand = new StepRunner(createAgent({ provider, log }), session);
    await hand.submitMessage('Answer.');
    await hand.advance();
    const controller = new AbortController();
    const asked = hand.request(1, { signal: controller.signal });
    await until(log, saying('Half an'));
    controller.abort();
    expect((await asked).stop).toEqual({ reason: 'aborted' });
    expect(await hand.advance()).toMatchObject({ do: 'done', stop: { reason: 'aborted' } });
    expect(await texts(log)).toEqual(['Answer.', 'Half an']);
  });

  test('receives an abort from the log, which is on the log before the end of the answer', async () => {
    const log = memoryLog();
    const stall = { type: 'stall', after: 2 } as const;
    const provider = scriptedProvider([
      { content: { parts: ['Half an answer'] }, fault: stall, pieces: 'token' },
    ]);
    const agent = createAgent({ provider, log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Answer.');
    await hand.advance();
    const asked = hand.request(1);
    await until(log, saying('Half an'));
    const command = { type: 'abort', reason: 'enough' } as const;
    await submitStep(agent, { session, command, key: 'stop' });
    expect(await commandStep(agent, hand.held)).toEqual({ isAborted: true, asked: [] });
    expect(await commandStep(agent, hand.held)).toEqual({ isAborted: true, asked: [] });
    await asked;
    const end = await hand.advance();
    expect(end).toMatchObject({ do: 'done', stop: { reason: 'aborted' } });
    const facts = factsIn(await sound(log));
    expect(facts.filter((type) => type === 'aborted')).toHaveLength(1);
    expect(facts.indexOf('aborted')).toBeLessThan(facts.indexOf('response_finished'));
  });

  test('that is left writes nothing more, and another process continues', async () => {
    const log = memoryLog();
    const stall = { type: 'stall', after: 2 } as const;
    const half = { content: { parts: ['Half an answer'] }, fault: stall, pieces: 'token' } as const;
    const script = [half, 'Whole.'];
    const hand = new StepRunner(createAgent({ provider: scriptedProvider(script), log }), session);
    await hand.submitMessage('Answer.');
    await hand.advance();
    const leaving = new AbortController();
    const left = hand.request(1, { leave: leaving.signal });
    left.catch(() => {});
    await until(log, saying('Half an'));
    leaving.abort(new Error('the worker stops'));
    await expect(left).rejects.toThrow('the worker stops');
    expect(factsIn(await readRecords(log, session))).not.toContain('response_finished');
    expect(await hand.drive()).toMatchObject({ text: 'Whole.' });
    expect(await texts(log)).toEqual(['Answer.', 'Whole.']);
  });

  test('that will not be repeated keeps the partial answer, if requested', async () => {
    const log = memoryLog();
    const stall = { type: 'stall', after: 2 } as const;
    const provider = scriptedProvider([
      { content: { parts: ['Half an answer'] }, fault: stall, pieces: 'token' },
    ]);
    const hand = new StepRunner(createAgent({ provider, log }), session);
    await hand.submitMessage('Answer.');
    await hand.advance();
    const dead = hand.request(1);
    dead.catch(() => {});
    await until(log, saying('Half an'));
    const plan = await hand.advance({ keepsCut: true });
    expect(plan).toMatchObject({ do: 'done', stop: { reason: 'aborted', cause: 'interrupted' } });
    await expect(dead).rejects.toMatchObject({ code: 'fenced' });
    expect(await texts(log)).toEqual(['Answer.', 'Half an']);
  });

  test('in which user code throws ends the run as an error', async () => {
    const log = memoryLog();
    const instructions = () => {
      throw new Error('no instructions today');
    };
    const agent = createAgent({ provider: scriptedProvider([]), log, instructions });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Answer.');
    expect(await hand.drive()).toMatchObject({ stop: { reason: 'error', cause: 'failed' } });
    await sound(log);
  });
});

describe('calls', () => {
  test('run in parallel, each writing to the log', async () => {
    const log = memoryLog();
    const gates = { door: Promise.withResolvers<void>(), gate: Promise.withResolvers<void>() };
    const tool = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({ at: z.enum(['door', 'gate']) }) },
      async *execute({ at }) {
        yield `${at} one `;
        await gates[at].promise;
        yield `${at} two `;
        return `${at} done`;
      },
    });
    const script = [{ content: { parts: [look, listen] } }, 'Fine.'];
    const agent = createAgent({ provider: scriptedProvider(script), tools: [tool], log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    await hand.advance();
    await hand.request(1);
    const plan = await hand.advance();
    const called = hand.calls(plan);
    await until(log, saying('door one'));
    await until(log, saying('gate one'));
    gates.gate.resolve();
    await until(log, saying('gate two'));
    gates.door.resolve();
    expect((await called).map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
    expect(await hand.drive()).toMatchObject({ text: 'Fine.' });
    // In call order, whichever finished first.
    expect(await texts(log)).toEqual(['Look.', 'door done', 'gate done', 'Fine.']);
    const producers = new Set((await sound(log)).map(({ producer }) => producer));
    expect([...producers].filter((name) => name.startsWith('call '))).toHaveLength(2);
  });

  test.each([
    ['fail', 1, /nobody knows whether it was done/],
    ['repeat', 2, /looked 2/],
  ] as const)(
    'of a tool with afterCrash %s: after a dead attempt, it has run %s times',
    async (afterCrash, times, told) => {
      const log = memoryLog();
      let looked = 0;
      const tool = lookTool(async () => {
        looked += 1;
        return looked === 1 ? new Promise<string>(() => {}) : `looked ${looked}`;
      }, afterCrash);
      const script = [{ content: { parts: [look] } }, 'Fine.'];
      const agent = createAgent({ provider: scriptedProvider(script), tools: [tool], log });
      const hand = new StepRunner(agent, session);
      await hand.submitMessage('Look.');
      await hand.advance();
      await hand.request(1);
      const plan = await hand.advance();
      hand.calls(plan).catch(() => {});
      await until(log, (records) => factsIn(records).includes('tool_execution_started'));
      expect(await hand.calls(plan)).toMatchObject([{ outcome: 'answered' }]);
      expect(looked).toBe(times);
      await hand.drive();
      expect((await texts(log))[1]).toMatch(told);
    },
  );

  test('that need an approval do not wait in a process; decisions come from the log', async () => {
    const log = memoryLog();
    const tools = [lookTool(async (at) => `the ${at} is fine`)];
    const script = [{ content: { parts: [look, listen] } }, 'Fine.'];
    const provider = scriptedProvider(script);
    const agent = createAgent({ provider, tools, log, approve: () => 'ask' });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    await hand.advance();
    await hand.request(1);
    const plan = await hand.advance();
    expect((await hand.calls(plan)).map(({ outcome }) => outcome)).toEqual(['asked', 'asked']);
    const command = { type: 'approve', toolCallId: toolCallId('c1') } as const;
    await submitStep(agent, { session, command, key: 'yes' });
    expect(await commandStep(agent, hand.held)).toEqual({ isAborted: false, asked: ['c2'] });
    expect((await hand.calls(plan)).map(({ outcome }) => outcome)).toEqual(['answered', 'asked']);
    const deny = { type: 'deny', toolCallId: toolCallId('c2'), reason: 'not that' } as const;
    await submitStep(agent, { session, command: deny, key: 'no' });
    const again = await hand.advance();
    expect(again).toMatchObject({
      do: 'tool_calls',
      toolCalls: [{ toolCallId: 'c2', needsApproval: false }],
    });
    await hand.calls(again);
    expect(await hand.drive()).toMatchObject({ text: 'Fine.' });
    expect((await texts(log)).slice(1)).toEqual([
      'the door is fine',
      'It was not allowed: not that',
      'Fine.',
    ]);
  });

  test('are stopped by an abort, and still have results', async () => {
    const log = memoryLog();
    const tool = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
      execute: (_input, { signal }) =>
        new Promise<string>((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        ),
    });
    const script = [{ content: { parts: [look] } }];
    const agent = createAgent({ provider: scriptedProvider(script), tools: [tool], log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    await hand.advance();
    await hand.request(1);
    const called = hand.calls(await hand.advance());
    await until(log, (records) => factsIn(records).includes('tool_execution_started'));
    await submitStep(agent, { session, command: { type: 'abort' }, key: 'stop' });
    await commandStep(agent, hand.held);
    await called;
    expect(await hand.advance()).toMatchObject({ do: 'done', stop: { reason: 'aborted' } });
    expect(await texts(log)).toEqual(['Look.', 'It was stopped before it was done.']);
  });
});

describe('the session', () => {
  test('is held between steps, and a second owner gets an error that names the first', async () => {
    const log = memoryLog();
    const agent = createAgent({ provider: scriptedProvider(['Fine.']), log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    await hand.advance();
    const { stop, error } = await agent.resume(session).result;
    expect(stop.cause).toBe('held');
    expect(error?.message).toContain('by hand [one] step 1.1');
  });

  test('is advanced only by the latest attempt, whichever resumes last', async () => {
    const log = memoryLog();
    const agent = createAgent({ provider: scriptedProvider(['Fine.']), log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    const runId = 'run one' as never;
    const at = (step: number, attempt: number) =>
      advance(agent, { session, runId, claim: hand.claim(step, attempt) });
    const first = await at(1, 1);
    const second = await at(1, 2);
    expect(second.epoch).toBeGreaterThan(first.epoch);
    await expect(at(1, 1)).rejects.toMatchObject({ code: 'fenced' });
    await expect(
      requestStep(agent, { session, epoch: first.epoch, turn: 1 }),
    ).rejects.toMatchObject({ code: 'fenced' });
    await requestStep(agent, { session, epoch: second.epoch, turn: 1 });
    expect((await at(2, 1)).plan).toMatchObject({ do: 'done', text: 'Fine.' });
  });

  test('that another process left open is continued', async () => {
    const log = memoryLog();
    const gate = Promise.withResolvers<void>();
    const provider = createProvider('p', 'm', async function* (_request, { item, ids }) {
      const partId = ids.part(item.turn, item.attempt);
      yield { deltas: [{ type: 'begin_part', partId, itemId: item.id, kind: 'text' }] };
      yield { deltas: [{ type: 'append_text', partId, at: 0, chunk: 'Half' }] };
      await gate.promise;
    });
    const run = createAgent({ provider, log }).run('Answer.', { session });
    await until(log, saying('Half'));
    // Like a crash: the lease is taken, and the old driver has not noticed.
    await (await log.open(session, { takeOver: true })).release();
    const agent = createAgent({ provider: scriptedProvider(['Whole.', 'More.']), log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('And?');
    expect(await hand.drive()).toMatchObject({ text: 'Whole.', runId: 'run one' });
    expect(await texts(log)).toEqual(['Answer.', 'Half', 'And?', 'Whole.']);
    gate.resolve();
    await run.result;
  });

  test('without input is left alone, if requested', async () => {
    const log = memoryLog();
    const agent = createAgent({ provider: scriptedProvider([]), log });
    const hand = new StepRunner(agent, session);
    const own = { session, runId: 'run one' as never, ifAsked: true };
    expect((await advance(agent, { ...own, claim: hand.claim(1) })).plan).toEqual({ do: 'idle' });
    expect(await log.info(session)).toMatchObject({ through: 0, lease: undefined });
  });

  test('rejects commands that cannot be decoded', async () => {
    const agent = createAgent({ provider: scriptedProvider([]), log: memoryLog() });
    for (const command of [{ type: 'nonsense' }, {}, { type: 'approve', toolCallId: 7 }])
      await expect(submitStep(agent, { session, command, key: 'k' })).rejects.toMatchObject({
        code: 'bad_command',
      });
  });

  test('accepts messages during a run: a steer with the next request, a follow-up as a run', async () => {
    const log = memoryLog();
    const tools = [lookTool(async (at) => `the ${at} is fine`)];
    const script = [{ content: { parts: [look] } }, 'Steered.', 'Followed.'];
    const provider = scriptedProvider(script);
    const agent = createAgent({ provider, tools, log });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    await hand.advance();
    await hand.request(1);
    await hand.submitMessage('Quick!', 'quick', 'steer');
    await hand.submitMessage('Then?', 'then');
    expect(await hand.drive()).toMatchObject({ text: 'Followed.' });
    expect((await texts(log)).slice(1)).toEqual([
      'the door is fine',
      'Quick!',
      'Steered.',
      'Then?',
      'Followed.',
    ]);
  });
});
