import { type Agent, createAgent, defineTool, subAgent } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Clock, type Log, memoryLog, snapshot, systemClock } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { withMethods } from '../../../../agent/src/testing/test-doubles.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import { digestCacheFor, digestReply } from '../../inspection/task-digest.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import {
  collect,
  createTaskHarness,
  eventually,
  type TaskHarness,
  textsOf,
  userText,
} from '../../testing/servers/task-harness.ts';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'It is there',
});
const looks: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
};

type Options = Omit<Parameters<typeof createAgent>[0], 'provider' | 'log'>;

const looping =
  (script: readonly ScriptEntry[], options: Options = {}) =>
  (log: Log): readonly LoopAgent[] => {
    const agent = createAgent({ provider: scriptedProvider(script), log, ...options });
    return [{ type: 'loop', name: 'looper', agent }];
  };

const stalls = {
  content: { parts: ['One moment please'] },
  fault: { type: 'stall', after: 2 },
} as const;
const isIdle = async ({ log }: TaskHarness, id: string) =>
  (await log.info(sessionId(id)))?.hasWork === false;

test('serves an agent loop: a message starts a run, including tools', async () => {
  const harness = await createTaskHarness(
    looping([{ content: { parts: ['Let me see', looks] } }, 'It is.'], { tools: [look] }),
  );
  const { id } = await harness.newTask('looper');
  const answer = await harness.send('looper', id, 'Is it there?');
  const updates = await collect(answer.updates());
  const types = (await answer.messages()).map(({ content }) => content.type);
  expect(types).toEqual(['text', 'tool_request', 'tool_response', 'text']);
  expect(new Set(updates.map(({ parent_task_message }) => parent_task_message?.id)).size).toBe(4);
  expect(textsOf([(await harness.messages(id))[0] ?? expect.fail()])).toEqual(['Is it there?']);
  expect((await harness.task(id)).status).toBe('RUNNING');
});

test('answers a second message after the current run', async () => {
  const slow = { content: { parts: ['First of all this'] }, pauseMs: 1, pieces: 'token' } as const;
  const harness = await createTaskHarness(looping([slow, 'Second']));
  const { id } = await harness.newTask('looper');
  const first = await harness.send('looper', id, 'One');
  const second = await harness.send('looper', id, 'Two');
  expect(textsOf(await second.messages())).toEqual(['Second']);
  expect(textsOf(await first.messages())).toContain('First of all this');
});

describe('commands', () => {
  test('24: an abort of a run in another process does not stop the next message', async () => {
    const stored = memoryLog();
    const ended = Promise.withResolvers<void>();
    // The other process reads the abort and ends the run before the server continues.
    const submit: Log['submit'] = async (session, command, key) => {
      const result = await stored.submit(session, command, key);
      if (command['type'] === 'abort') await ended.promise;
      return result;
    };
    const log = withMethods(stored, { submit });
    const harness = await createTaskHarness(looping(['The next answer']), { log });
    const { id } = await harness.newTask('looper');
    const other = createAgent({ provider: scriptedProvider([stalls]), log: stored });
    const run = other.run('Hi', { session: sessionId(id) });
    run.result.then(() => ended.resolve(), ended.reject);
    await eventually(async () => (await harness.messages(id)).length === 2);
    await harness.service.tasks.submit(id, { type: 'abort' });
    expect((await run.result).reason).toBe('aborted');
    const answer = await harness.send('looper', id, 'And now?');
    expect(textsOf(await answer.messages())).toEqual(['The next answer']);
    const { records } = await harness.log.read(sessionId(id));
    const starts = records.filter(({ fact }) => fact?.type === 'run_started');
    expect(starts).toHaveLength(2);
  });

  test('24: an abort that another process reads late does not stop the next message', async () => {
    const [stored, late] = [memoryLog(), Promise.withResolvers<void>()];
    // The other process receives no record of other programs for some time.
    const follow: Log['follow'] = async function* (...given) {
      await late.promise;
      yield* stored.follow(...given);
    };
    const other = createAgent({
      ...{ provider: scriptedProvider([stalls]), log: withMethods<Log>(stored, { follow }) },
    });
    const opening = Promise.withResolvers<void>();
    let ended: Promise<unknown> | undefined;
    // A server that opens the session gets it after the other process has ended its run.
    const open: Log['open'] = async (...given) => {
      if (ended !== undefined) opening.resolve();
      await ended;
      return stored.open(...given);
    };
    const timers: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (ms, run, options) => {
        // Other idle timers, for example of caches, are longer.
        if (!options?.isIdle || ms > 1000) return systemClock.after(ms, run, options);
        timers.push(run);
        return () => {};
      },
    };
    const log = withMethods(stored, { open });
    const harness = await createTaskHarness(looping(['The next answer']), { log, clock });
    const { id } = await harness.newTask('looper');
    const run = other.run('Hi', { session: sessionId(id) });
    await eventually(async () => (await harness.messages(id)).length === 2);
    await harness.service.tasks.submit(id, { type: 'abort' });
    ended = run.result;
    for (const fire of timers.splice(0)) fire();
    await Promise.race([opening.promise, eventually(async () => timers.length > 0)]);
    late.resolve();
    expect((await run.result).reason).toBe('aborted');
    const answer = await harness.send('looper', id, 'And now?');
    expect(textsOf(await answer.messages())).toEqual(['The next answer']);
    const { records } = await stored.read(sessionId(id));
    const starts = records.filter(({ fact }) => fact?.type === 'run_started');
    expect(starts).toHaveLength(2);
  });

  test('an abort from another client stops the run and keeps the partial answer', async () => {
    const harness = await createTaskHarness(looping([stalls, 'Back again']));
    const { id } = await harness.newTask('looper');
    const answer = await harness.send('looper', id, 'Hi');
    await eventually(async () => (await harness.messages(id)).length === 2);
    await harness.service.tasks.submit(id, { type: 'abort' });
    await answer.messages();
    await eventually(async () => (await harness.task(id)).status === 'INTERRUPTED');
    const next = await harness.send('looper', id, 'And now?');
    expect(textsOf(await next.messages())).toEqual(['Back again']);
  });

  test('a message after an abort is answered, even if the run ends late', async () => {
    const [started, held] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const hold = defineTool({
      ...{ name: 'look', description: 'Looks until it is let go', input: z.object({}) },
      execute: () => {
        started.resolve();
        return held.promise;
      },
    });
    const script = [{ content: { parts: [looks] } }, 'Back again'];
    const harness = await createTaskHarness(looping(script, { tools: [hold] }));
    const { id } = await harness.newTask('looper');
    await harness.send('looper', id, 'Go');
    await started.promise;
    await harness.service.tasks.submit(id, { type: 'abort' });
    await harness.send('looper', id, 'And now?');
    held.resolve('Let go');
    await eventually(async () => textsOf(await harness.messages(id)).includes('Back again'));
    expect((await harness.task(id)).status).toBe('RUNNING');
  });

  test('interrupting the task aborts its run', async () => {
    const harness = await createTaskHarness(looping([stalls]), { graceMs: 5000 });
    const { id } = await harness.newTask('looper');
    const answer = await harness.send('looper', id, 'Hi');
    await eventually(async () => (await harness.messages(id)).length === 2);
    expect((await harness.service.tasks.change(id, 'interrupt')).status).toBe('INTERRUPTED');
    expect(await answer.messages()).toHaveLength(1);
    expect(await isIdle(harness, id)).toBe(true);
  });

  test('a later approval runs the call', async () => {
    const harness = await createTaskHarness(
      looping([{ content: { parts: [looks] } }, 'It is.'], {
        ...{ tools: [look], approve: () => 'ask', whileAsking: 'park' },
      }),
    );
    const { id } = await harness.newTask('looper');
    const parked = await harness.send('looper', id, 'Is it there?');
    expect((await parked.messages())[0]?.content.type).toBe('tool_request');
    expect(textsOf(await harness.messages(id)).join()).not.toContain('It is there');
    await harness.service.tasks.submit(id, { type: 'approve', tool_call_id: 'c1', by: 'Ada' });
    await eventually(async () => textsOf(await harness.messages(id)).includes('It is.'));
    await eventually(() => isIdle(harness, id));
  });

  test('21.N: a late approval is refused with what was decided, and a repeated one is not', async () => {
    const harness = await createTaskHarness(
      looping([{ content: { parts: [looks] } }, 'It is.'], {
        ...{ tools: [look], approve: () => 'ask', whileAsking: 'park' },
      }),
    );
    const { id } = await harness.newTask('looper');
    const { tasks } = harness.service;
    await (await harness.send('looper', id, 'Is it there?')).messages();
    const approval = { type: 'approve', tool_call_id: 'c1', by: 'Ada' } as const;
    const denial = { type: 'deny', tool_call_id: 'c1', by: 'Bob' } as const;
    // Two answers arrive at the same time. Exactly one of them counts: the one that is stored first.
    const both = await Promise.allSettled([
      tasks.submit(id, approval, { key: 'a' }),
      tasks.submit(id, denial, { key: 'b' }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const isAllowed = both[0].status === 'fulfilled';
    const [first, key] = isAllowed ? ([approval, 'a'] as const) : ([denial, 'b'] as const);
    const [decision, text] = isAllowed ? ['allow', 'it was allowed'] : ['deny', 'it was denied'];
    await eventually(async () => textsOf(await harness.messages(id)).includes('It is.'));
    await eventually(() => isIdle(harness, id));
    const late = {
      ...{ code: 'conflict', message: expect.stringContaining(`${text} by ${first.by}`) },
      details: { decision, by: first.by },
    };
    await expect(tasks.submit(id, denial)).rejects.toMatchObject(late);
    await expect(tasks.submit(id, approval)).rejects.toMatchObject(late);
    expect(await tasks.submit(id, first, { key })).toMatchObject({ is_repeat: true });
    const unknown = { ...approval, tool_call_id: 'c9' };
    await expect(tasks.submit(id, unknown)).rejects.toMatchObject({ code: 'bad_state' });
    expect((await harness.log.info(sessionId(id)))?.hasWork).toBe(false);
  });

  test('21.N: an approval of a call whose run was interrupted is refused', async () => {
    const harness = await createTaskHarness(
      looping([{ content: { parts: [looks] } }, 'It is.'], {
        ...{ tools: [look], approve: () => 'ask', whileAsking: 'park' },
      }),
      { graceMs: 5000 },
    );
    const { id } = await harness.newTask('looper');
    await (await harness.send('looper', id, 'Is it there?')).messages();
    await harness.service.tasks.change(id, 'interrupt');
    await eventually(() => isIdle(harness, id));
    const approval = harness.service.tasks.submit(id, { type: 'approve', tool_call_id: 'c1' });
    await expect(approval).rejects.toMatchObject({
      ...{ code: 'conflict', message: expect.stringContaining('its run has ended') },
    });
    expect((await harness.task(id)).status).toBe('INTERRUPTED');
  });

  test('an interrupt of a server that crashed ends the run that waits for approval', async () => {
    const [stored, rows] = [memoryLog(), memoryRows()];
    const agents = looping([{ content: { parts: [looks] } }, 'It is.'], {
      ...{ tools: [look], approve: () => 'ask', whileAsking: 'park' },
    });
    const aborted = Promise.withResolvers<void>();
    // The server crashes after it has stored the abort, so the call never returns.
    const submit: Log['submit'] = async (session, command, key) => {
      const result = await stored.submit(session, command, key);
      if (command['type'] !== 'abort') return result;
      aborted.resolve();
      return new Promise<never>(() => {});
    };
    const log = withMethods(stored, { submit });
    const crashed = await createTaskHarness(agents, { log, rows, watchMs: 1e9 });
    const { id } = await crashed.newTask('looper');
    await (await crashed.send('looper', id, 'Is it there?')).messages();
    await eventually(async () => (await stored.info(sessionId(id)))?.lease === undefined);
    // A second server drives the session when the interrupt arrives.
    const driver = await stored.open(sessionId(id));
    crashed.service.tasks.change(id, 'interrupt').catch(() => {});
    await aborted.promise;
    await driver.release();
    const next = await createTaskHarness(agents, { log: stored, rows, watchMs: 5 });
    await eventually(() => isIdle(next, id));
    expect((await next.task(id)).status).toBe('INTERRUPTED');
    const approval = next.service.tasks.submit(id, { type: 'approve', tool_call_id: 'c1' });
    await expect(approval).rejects.toMatchObject({ code: 'conflict' });
  });

  test('interrupting a run that waits for approval ends it without an answer', async () => {
    const harness = await createTaskHarness(
      looping([{ content: { parts: [looks] } }, 'It is.'], {
        ...{ tools: [look], approve: () => 'ask', whileAsking: 'park' },
      }),
      { graceMs: 5000 },
    );
    const { id } = await harness.newTask('looper');
    await (await harness.send('looper', id, 'Is it there?')).messages();
    await eventually(async () => (await harness.log.info(sessionId(id)))?.lease === undefined);
    await harness.service.tasks.change(id, 'interrupt');
    expect(await isIdle(harness, id)).toBe(true);
    const texts = textsOf(await harness.messages(id)).join();
    expect(texts).not.toContain('It is');
    expect(texts).toContain('stopped');
    expect((await harness.task(id)).status).toBe('INTERRUPTED');
  });

  test('without an answer reach the loop and do not resume a stopped task', async () => {
    const harness = await createTaskHarness(looping([stalls, 'Back again']), { graceMs: 5000 });
    const { id } = await harness.newTask('looper');
    await harness.send('looper', id, 'Hi');
    await eventually(async () => (await harness.messages(id)).length === 2);
    const waits = { type: 'message', content: userText('Never mind') } as const;
    await harness.service.tasks.submit(id, waits, { key: 'k' });
    await harness.service.tasks.change(id, 'interrupt');
    await harness.service.tasks.submit(id, { type: 'withdraw', key: 'k' });
    await harness.service.tasks.submit(id, { type: 'revoke', rule: 'look' });
    // A terminal on the same log labels a message.
    const label = { type: 'label', itemId: 'i1', text: 'start' };
    await harness.log.submit(sessionId(id), label, 'label');
    expect((await harness.task(id)).status).toBe('INTERRUPTED');
    const { records } = await harness.log.read(sessionId(id));
    const queued = records.flatMap(({ fact }) =>
      fact?.type === 'command_queued' ? fact.command : [],
    );
    expect(queued.slice(-3)).toEqual([
      ...[{ type: 'withdraw', key: 'command:k' }, { type: 'revoke', rule: 'look' }, label],
    ]);
    const next = await harness.send('looper', id, 'And now?');
    expect(textsOf(await next.messages())).toEqual(['Back again']);
    await eventually(() => isIdle(harness, id));
    expect(textsOf(await harness.messages(id))).not.toContain('Never mind');
  });

  test('a repeated key is the same command', async () => {
    const harness = await createTaskHarness(looping(['One', 'Two']));
    const { id } = await harness.newTask('looper');
    const command = { type: 'message', content: userText('Hi') } as const;
    const first = await harness.service.tasks.submit(id, command, { key: 'k' });
    const again = await harness.service.tasks.submit(id, command, { key: 'k' });
    expect(again).toEqual({ offset: first.offset, is_repeat: true });
    await eventually(() => isIdle(harness, id));
    expect((await harness.messages(id)).length).toBe(2);
  });

  test('are accepted for agent loops only', async () => {
    const harness = await createTaskHarness([
      {
        type: 'sync',
        name: 'speaker',
        onMessage: async () => ({ type: 'data', author: 'agent', data: {} }),
      },
    ]);
    const { id } = await harness.newTask('speaker');
    await expect(harness.service.tasks.submit(id, { type: 'compact' })).rejects.toMatchObject({
      code: 'bad_state',
    });
  });
});

describe('20.4: a question of a sub-agent', () => {
  /** Serves an agent with two levels of sub-agents. The lowest one asks before it looks. */
  const withHelpers =
    (whileAsking: 'wait' | 'park') =>
    (log: Log): readonly LoopAgent[] => {
      const task = (id: string): Part => ({
        ...{ kind: 'tool_call', toolCallId: toolCallId(id), name: 'help' },
        arguments: '{"task":"Look"}',
      });
      const usage = { input: 90, output: 10 };
      const helper = createAgent({
        provider: scriptedProvider([{ content: { parts: [looks] }, usage }, 'I looked.']),
        ...{ name: 'helper', log, tools: [look], approve: () => 'ask' as const },
      });
      const asTool = (agent: Agent) => subAgent({ name: 'help', description: 'Helps', agent });
      const lead = createAgent({
        provider: scriptedProvider([{ content: { parts: [task('t2')] } }, 'We looked.']),
        ...{ name: 'lead', log, tools: [asTool(helper)] },
      });
      const script = [{ content: { parts: [task('t1')] } }, 'It is.'];
      return looping(script, { tools: [asTool(lead)], whileAsking })(log);
    };

  test.each(['wait', 'park'] as const)('is answered through the task: %s', async (whileAsking) => {
    const harness = await createTaskHarness(withHelpers(whileAsking));
    const { id } = await harness.newTask('looper');
    const answer = await harness.send('looper', id, 'Is it there?');
    const asked = async () => (await snapshot(harness.log, sessionId(id))).asked;
    await eventually(async () => (await asked()).length === 1);
    const [question] = await asked();
    expect(question?.from).toMatchObject({ agents: ['lead', 'helper'], input: {} });
    const of = question?.toolCallId ?? '';
    await harness.service.tasks.submit(id, { type: 'approve', tool_call_id: of, by: 'Ada' });
    await eventually(async () => textsOf(await harness.messages(id)).includes('It is.'));
    await answer.messages();
    expect(textsOf(await harness.messages(id)).join()).toContain('We looked.');
    await eventually(() => isIdle(harness, id));
    for (const { hasWork } of await harness.log.list()) expect(hasWork).toBe(false);
    const digest = digestReply((await digestCacheFor(harness.log).read(sessionId(id))).state);
    expect(digest.usage.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(6);
    expect(digest.usage.reduce((sum, { usage }) => sum + usage.input, 0)).toBeGreaterThan(89);
  });

  test('survives the server that asked it', async () => {
    const [log, rows] = [memoryLog(), memoryRows()];
    const agents = withHelpers('wait')(log);
    const first = await createTaskHarness(agents, { log, rows, graceMs: 5000 });
    const { id } = await first.newTask('looper');
    await first.send('looper', id, 'Is it there?');
    const asked = async () => (await snapshot(log, sessionId(id))).asked;
    await eventually(async () => (await asked()).length === 1);
    await first.service.close();
    const [question] = await asked();
    const second = await createTaskHarness(agents, { log, rows });
    const of = question?.toolCallId ?? '';
    await second.service.tasks.submit(id, { type: 'approve', tool_call_id: of });
    await eventually(async () => textsOf(await second.messages(id)).includes('It is.'));
    expect(textsOf(await second.messages(id)).join()).toContain('We looked.');
    expect(await log.list()).toHaveLength(3);
    await second.service.close();
  });

  test('ends when the task is interrupted', async () => {
    const harness = await createTaskHarness(withHelpers('park'), { graceMs: 5000 });
    const { id } = await harness.newTask('looper');
    await (await harness.send('looper', id, 'Is it there?')).messages();
    await eventually(async () => (await harness.log.info(sessionId(id)))?.lease === undefined);
    await harness.service.tasks.change(id, 'interrupt');
    expect((await harness.task(id)).status).toBe('INTERRUPTED');
    for (const { session, hasWork } of await harness.log.list()) {
      expect(hasWork).toBe(false);
      expect((await snapshot(harness.log, session)).asked).toEqual([]);
    }
  });
});

test('an event is a message without a waiting client', async () => {
  const harness = await createTaskHarness(looping(['Heard you']));
  const { id: task_id } = await harness.newTask('looper');
  const agent = await harness.idOf('looper');
  const event = await harness.service.tasks.sendEvent(agent, { task_id, content: userText('Hi') });
  expect(event).toMatchObject({ task_id, content: userText('Hi') });
  await eventually(async () => (await harness.messages(task_id)).length === 2);
});

test('a failed run fails the task with its reason and rejects the waiting client', async () => {
  const fault = { type: 'error', after: 0, error: 'auth' } as const;
  const harness = await createTaskHarness(looping([{ content: { parts: ['No'] }, fault }]));
  const { id } = await harness.newTask('looper');
  const answer = await harness.send('looper', id, 'Hi');
  await expect(answer.messages()).rejects.toMatchObject({ code: 'agent_failed' });
  await eventually(async () => (await harness.task(id)).status === 'FAILED');
});

test('refuses an agent loop with another log at the start and explains why', async () => {
  const agent = createAgent({ provider: scriptedProvider([]), log: memoryLog() });
  const log = memoryLog();
  const started = createTaskHarness([{ type: 'loop', name: 'looper', agent }], {
    log,
    rows: memoryRows(),
  });
  await expect(started).rejects.toThrow('Create it with the same log as the server');
  expect(await log.list()).toEqual([]);
});

test('the next server ends an answer that a stopped server left, and states the reason', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const script = [stalls, 'Here I am'];
  const agents = looping(script)(log);
  const first = await createTaskHarness(agents, { log, rows, graceMs: 5000 });
  const { id } = await first.newTask('looper');
  await first.send('looper', id, 'Hi');
  await eventually(async () => (await first.messages(id)).length === 2);
  await first.service.close();
  expect(await log.info(sessionId(id))).toMatchObject({ hasWork: true, lease: undefined });
  const second = await createTaskHarness(agents, { log, rows });
  await eventually(() => isIdle(second, id));
  const reason = 'The server stopped during the run';
  await eventually(async () => (await second.task(id)).status_reason === reason);
  expect((await second.task(id)).status).toBe('INTERRUPTED');
  const answer = await second.send('looper', id, 'Hello?');
  expect(textsOf(await answer.messages())).toEqual(['Here I am']);
  await second.service.close();
});

test('a call that waits for approval when its server stops can be approved at the next server', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  const script = [{ content: { parts: [looks] } }, 'It is.'];
  const agents = looping(script, { tools: [look], approve: () => 'ask' })(log);
  const requests = async () => (await snapshot(log, sessionId(id))).asked.length;
  const first = await createTaskHarness(agents, { log, rows, graceMs: 5000 });
  const { id } = await first.newTask('looper');
  await first.send('looper', id, 'Is it there?');
  await eventually(async () => (await requests()) === 1);
  await first.service.close();
  expect(await requests()).toBe(1);
  const second = await createTaskHarness(agents, { log, rows });
  expect((await second.task(id)).status).toBe('RUNNING');
  await second.service.tasks.submit(id, { type: 'approve', tool_call_id: 'c1' });
  await eventually(async () => textsOf(await second.messages(id)).includes('It is.'));
  expect(textsOf(await second.messages(id)).join()).toContain('It is there');
});
