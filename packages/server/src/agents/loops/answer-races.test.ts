import { setImmediate as nextRound } from 'node:timers/promises';
import { clientTool, createAgent, defineTool, type Tool } from '@millrace/agent';
import { type Part, sessionId, toolCallId } from '@millrace/core';
import { type Log, LogError, memoryLog } from '@millrace/log';
import { createProvider, type Provider } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { withAppends, withMethods } from '../../../../agent/src/testing/test-doubles.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import {
  createTaskHarness,
  eventually,
  type TaskHarness,
  textsOf,
  userText,
} from '../../testing/servers/task-harness.ts';

const looping = (provider: Provider, log: Log): readonly LoopAgent[] => [
  { type: 'loop', name: 'looper', agent: createAgent({ provider, log }) },
];

async function keyed(harness: TaskHarness, task_id: string, text: string, key: string) {
  const agentId = await harness.idOf('looper');
  return harness.service.tasks.sendMessage(agentId, { task_id, content: userText(text) }, { key });
}

/** Creates a provider whose first answers wait. Each answer has its own promise that releases it. */
function gated(script: readonly ScriptEntry[], ...released: readonly Promise<void>[]): Provider {
  const provider = scriptedProvider(script);
  let requests = 0;
  return createProvider('gated', 'gated', async function* (request, context) {
    await released[requests++];
    yield* provider.stream(request, context);
  });
}

/**
 * Resolves when the server has handled the end of the run. All stores are in memory, so this takes only
 * a few rounds of the event loop after the lease was returned.
 */
async function runHandled({ log }: TaskHarness, id: string): Promise<void> {
  await eventually(async () => (await log.info(sessionId(id)))?.lease === undefined);
  for (let rounds = 0; rounds < 10; rounds++) await nextRound();
}

async function runsIn({ log }: TaskHarness, id: string): Promise<number> {
  const { records } = await log.read(sessionId(id));
  return records.filter(({ fact }) => fact?.type === 'run_started').length;
}

describe('21: a repeat that starts before its message is stored, and continues', () => {
  /** Creates a log that answers the second lookup of a key late. */
  function lateLookup() {
    const [stored, held] = [memoryLog(), Promise.withResolvers<void>()];
    const late = Promise.withResolvers<void>();
    let lookups = 0;
    const findCommand: Log['findCommand'] = async (...which) => {
      const isSecond = ++lookups === 2;
      const found = await stored.findCommand(...which);
      if (isSecond) late.resolve();
      if (isSecond) await held.promise;
      return found;
    };
    return { log: withMethods(stored, { findCommand }), late: late.promise, go: held.resolve };
  }

  /** Sends the same message twice at the same time. Neither lookup finds the other message. */
  async function sendTwice(provider: Provider) {
    const { log, late, go } = lateLookup();
    const held = Promise.withResolvers<void>();
    const submit: Log['submit'] = async (...which) => {
      await held.promise;
      return log.submit(...which);
    };
    const slow = withMethods(log, { submit });
    const harness = await createTaskHarness(looping(provider, slow), { log: slow });
    const { id } = await harness.newTask('looper');
    const first = keyed(harness, id, 'Hi', 'k');
    const again = keyed(harness, id, 'Hi', 'k');
    await late;
    held.resolve();
    return { harness, id, first: await first, again, go };
  }

  test('21: after the end of the run returns the answer', async () => {
    const { harness, id, first, again, go } = await sendTwice(scriptedProvider(['Hello', 'Twice']));
    const messages = await first.messages();
    expect(textsOf(messages)).toEqual(['Hello']);
    await runHandled(harness, id);
    go();
    expect(await (await again).messages()).toEqual(messages);
    await runHandled(harness, id);
    expect(await runsIn(harness, id)).toBe(1);
  });

  test('21: after the message was consumed returns the answer', async () => {
    const gate = Promise.withResolvers<void>();
    const { harness, id, first, again, go } = await sendTwice(gated(['Hello'], gate.promise));
    await eventually(async () => textsOf(await harness.messages(id)).includes('Hi'));
    go();
    const repeated = await again;
    gate.resolve();
    const messages = await first.messages();
    expect(textsOf(messages)).toEqual(['Hello']);
    expect(await repeated.messages()).toEqual(messages);
  });
});

describe('21: a message that is stored after the previous run has ended', () => {
  /** Creates a log that can delay the next command, and whose drivers can fail to write. */
  function adjustableLog() {
    const control = { held: Promise.resolve(), isBroken: false, submits: 0 };
    const stored = memoryLog();
    const submit: Log['submit'] = async (...which) => {
      control.submits++;
      await control.held;
      return stored.submit(...which);
    };
    const log = withAppends(withMethods(stored, { submit }), (append) =>
      control.isBroken
        ? Promise.reject(new LogError('storage', 'Cannot write: the disk fails'))
        : append(),
    );
    return { log, control };
  }

  /** Sends two messages. The second one is stored only when `store` is called. */
  async function sendTwo() {
    const { log, control } = adjustableLog();
    const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const provider = gated(['One', 'Two'], one.promise, two.promise);
    const harness = await createTaskHarness(looping(provider, log), { log });
    const { id } = await harness.newTask('looper');
    const first = await harness.send('looper', id, 'First');
    const held = Promise.withResolvers<void>();
    control.held = held.promise;
    const second = harness.send('looper', id, 'Second');
    await eventually(async () => control.submits === 2);
    const go = { finishFirst: one.resolve, finishSecond: two.resolve, store: held.resolve };
    return { harness, id, control, first, second, ...go };
  }

  test('21: gets an error if its own run cannot write its end', async () => {
    const { harness, id, control, first, second, ...go } = await sendTwo();
    go.finishFirst();
    expect(textsOf(await first.messages())).toEqual(['One']);
    await runHandled(harness, id);
    go.store();
    const answer = await second;
    await eventually(async () => textsOf(await harness.messages(id)).includes('Second'));
    control.isBroken = true;
    go.finishSecond();
    await expect(answer.messages()).rejects.toMatchObject({ code: 'agent_failed' });
  });

  test('21: gets its own answer, not the failure of the previous run', async () => {
    const { harness, id, control, first, second, ...go } = await sendTwo();
    const failed = first.messages();
    failed.catch(() => {});
    control.isBroken = true;
    go.finishFirst();
    await expect(failed).rejects.toMatchObject({ code: 'agent_failed' });
    await runHandled(harness, id);
    control.isBroken = false;
    go.finishSecond();
    go.store();
    expect(textsOf(await (await second).messages())).toEqual(['Two']);
  });
});

test('21: a command that is repeated after its run starts no run and does not resume the task', async () => {
  const harness = await createTaskHarness((log) => looping(scriptedProvider(['One', 'Two']), log));
  const { tasks } = harness.service;
  const { id } = await harness.newTask('looper');
  const submit = () => tasks.submit(id, { type: 'message', content: userText('Hi') }, { key: 'k' });
  const { offset } = await submit();
  await eventually(async () => textsOf(await harness.messages(id)).includes('One'));
  await runHandled(harness, id);
  await tasks.change(id, 'interrupt');
  expect(await submit()).toEqual({ offset, is_repeat: true });
  await runHandled(harness, id);
  expect((await harness.task(id)).status).toBe('INTERRUPTED');
  expect(await runsIn(harness, id)).toBe(1);
});

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'It is there',
});
const call: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
};

test('21: an interrupt that is stored after a run has parked ends the run', async () => {
  const held = Promise.withResolvers<void>();
  const stored = memoryLog();
  let aborts = 0;
  const submit: Log['submit'] = async (session, command, key) => {
    if (command['type'] === 'abort') {
      aborts++;
      await held.promise;
    }
    return stored.submit(session, command, key);
  };
  const log = withMethods(stored, { submit });
  const gate = Promise.withResolvers<void>();
  const provider = gated([{ content: { parts: [call] } }, 'It is.'], gate.promise);
  const agent = createAgent({
    ...{ provider, log, tools: [look] },
    ...{ approve: () => 'ask', whileAsking: 'park' },
  });
  const harness = await createTaskHarness([{ type: 'loop', name: 'looper', agent }], { log });
  const { id } = await harness.newTask('looper');
  const answer = await harness.send('looper', id, 'Is it there?');
  const interrupted = harness.service.tasks.change(id, 'interrupt');
  await eventually(async () => aborts === 1);
  gate.resolve();
  await answer.messages();
  await runHandled(harness, id);
  held.resolve();
  await interrupted;
  await eventually(async () => (await log.info(sessionId(id)))?.hasWork === false);
  expect((await harness.task(id)).status).toBe('INTERRUPTED');
});

test('22.7: a stop right after a message ends a session that waits for an approval', async () => {
  const harness = await createTaskHarness((log) => {
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'It is.']);
    const agent = createAgent({
      ...{ provider, log, tools: [look] },
      ...{ approve: () => 'ask', whileAsking: 'park' },
    });
    return [{ type: 'loop', name: 'looper', agent }];
  });
  const { tasks } = harness.service;
  const { id } = await harness.newTask('looper');
  await (await harness.send('looper', id, 'Is it there?')).messages();
  await runHandled(harness, id);
  await tasks.submit(id, { type: 'message', content: userText('Then tell me') }, {});
  await tasks.change(id, 'interrupt');
  await runHandled(harness, id);
  const { records } = await harness.log.read(sessionId(id));
  const facts = records.flatMap(({ fact }) => fact ?? []);
  expect(facts.filter(({ type }) => type === 'aborted')).toHaveLength(1);
  expect(facts.at(-1)).toMatchObject({ type: 'run_finished', stop: { reason: 'aborted' } });
});

/** Creates a log that stores the park with this number only after `hold` resolves. */
function holdingPark(number: number, hold: Promise<void>) {
  let parks = 0;
  const log = withAppends(memoryLog(), async (append, drafts) => {
    const isPark = drafts.some(
      ({ fact }) => fact?.type === 'run_finished' && fact.stop.reason === 'parked',
    );
    if (isPark && ++parks === number) await hold;
    return append();
  });
  return { log, isHeld: async () => parks === number };
}

test('22.7: a stop that is stored while the run parks again ends the session once', async () => {
  const held = Promise.withResolvers<void>();
  const { log, isHeld } = holdingPark(2, held.promise);
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'It is.']);
  const agent = createAgent({
    ...{ provider, log, tools: [look] },
    ...{ approve: () => 'ask', whileAsking: 'park' },
  });
  const harness = await createTaskHarness([{ type: 'loop', name: 'looper', agent }], { log });
  const { tasks } = harness.service;
  const { id } = await harness.newTask('looper');
  await (await harness.send('looper', id, 'Is it there?')).messages();
  await runHandled(harness, id);
  await tasks.submit(id, { type: 'message', content: userText('Then tell me') }, {});
  await eventually(isHeld);
  const stopped = tasks.change(id, 'interrupt');
  await eventually(async () =>
    (await log.read(sessionId(id))).records.some(
      ({ fact }) => fact?.type === 'command_queued' && fact.command['type'] === 'abort',
    ),
  );
  held.resolve();
  await stopped;
  await runHandled(harness, id);
  const facts = (await log.read(sessionId(id))).records.flatMap(({ fact }) => fact ?? []);
  expect(facts.filter(({ type }) => type === 'aborted')).toHaveLength(1);
  expect(facts.at(-1)).toMatchObject({ type: 'run_finished', stop: { reason: 'aborted' } });
});

const ofClient = clientTool({ name: 'look', description: 'Looks', input: z.object({}) });

test.each([
  { tool: look, command: { type: 'approve', tool_call_id: 'c1' } },
  { tool: look, command: { type: 'deny', tool_call_id: 'c1' } },
  { tool: ofClient, command: { type: 'tool_output', tool_call_id: 'c1', output: 'Yes' } },
] as const)(
  '18.410: a command of type $command.type that is stored while the run parks continues the session',
  async ({ tool, command }) => {
    const held = Promise.withResolvers<void>();
    const { log, isHeld } = holdingPark(1, held.promise);
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'It is.']);
    const approve = () => (tool === look ? 'ask' : 'allow');
    const tools: readonly Tool[] = [tool];
    const agent = createAgent({ provider, log, tools, approve, whileAsking: 'park' });
    const harness = await createTaskHarness([{ type: 'loop', name: 'looper', agent }], { log });
    const { id } = await harness.newTask('looper');
    const answer = await harness.send('looper', id, 'Is it there?');
    await eventually(isHeld);
    await harness.service.tasks.submit(id, command, {});
    held.resolve();
    await answer.messages();
    await eventually(async () =>
      (await log.read(sessionId(id))).records.some(
        ({ fact }) => fact?.type === 'run_finished' && fact.stop.reason === 'stop',
      ),
    );
  },
);
