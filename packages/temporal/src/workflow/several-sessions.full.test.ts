import { fileURLToPath } from 'node:url';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { Worker } from '@temporalio/worker';
import { expect } from 'vitest';
import { z } from 'zod';
import { patientMs } from '../../../core/src/testing/runs.ts';
import { hasFact, hasText, textsOf, waitForRecords } from '../testing/session-log.ts';
import { replayOptions, temporalTest, useTemporal } from '../testing/use-temporal.ts';
import { ownWorkflow, severalAgentsWorkflow } from '../testing/workflows.ts';
import {
  agentWorkflow,
  approveSignal,
  interruptSignal,
  messageSignal,
  stateQuery,
  transcriptQuery,
} from './index.ts';

const temporal = useTemporal(fileURLToPath(new URL('../testing/workflows.ts', import.meta.url)));

const call = (id: string): ToolCallPart => ({
  ...{ kind: 'tool_call', toolCallId: toolCallId(id), name: 'look' },
  arguments: JSON.stringify({ at: 'x'.repeat(400) }),
});
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async () => 'y'.repeat(400),
});
const stalled = {
  content: { parts: ['Half an answer'] },
  pieces: 'token',
  fault: { type: 'stall', after: 2 },
} as const;
const options = { heartbeatMs: 1_000 };

temporalTest('two agents of a workflow receive the signals for their sessions', async () => {
  const log = memoryLog();
  const upper = createAgent({ name: 'upper', provider: scriptedProvider([stalled]), log });
  const lower = createAgent({
    ...{ name: 'lower', log, tools: [look], approve: () => 'ask' },
    provider: scriptedProvider([{ content: { parts: [call('c1')] } }, 'Low.', 'Lower.']),
  });
  const [taskQueue, workflowId] = ['several', 'several'];
  await temporal.withWorker({ taskQueue, agents: [upper, lower] }, async () => {
    const inputs = ['upper', 'lower'].map((agent) => ({
      ...{ agent, session: agent, input: 'Look.', options },
    }));
    const handle = await temporal.client().workflow.start(severalAgentsWorkflow, {
      ...{ taskQueue, workflowId, args: [inputs] },
    });
    await waitForRecords(log, sessionId('upper'), hasText('Half'));
    await waitForRecords(log, sessionId('lower'), hasFact('approval_asked'));
    expect(await handle.query(stateQuery)).toMatchObject({ session: 'upper' });
    const [low, high] = [{ session: 'lower' }, { session: 'upper' }];
    expect(await handle.query(transcriptQuery, low)).toMatchObject(low);
    await handle.signal(messageSignal, 'And?', low);
    await handle.signal(approveSignal, { toolCallId: 'c1', ...low });
    await waitForRecords(log, sessionId('lower'), hasText('Lower.'));
    await handle.signal(interruptSignal, 'enough', high);
    expect(await handle.result()).toEqual(['Half an', 'Lower.']);
    const replayed = { workflowBundle: temporal.bundle(), ...replayOptions };
    await Worker.runReplayHistory(replayed, await handle.fetchHistory(), workflowId);
  });
  const texts = await textsOf(log, sessionId('lower'));
  expect(texts).toEqual(['Look.', 'y'.repeat(400), 'Low.', 'And?', 'Lower.']);
  expect(await textsOf(log, sessionId('upper'))).toEqual(['Look.', 'Half an']);
});

temporalTest('workflows of one worker do not receive signals for another workflow', async () => {
  const log = memoryLog();
  const provider = scriptedProvider([stalled, stalled]);
  const agents = [createAgent({ name: 'weather', provider, log })];
  const taskQueue = 'neighbours';
  await temporal.withWorker({ taskQueue, agents }, async () => {
    const { workflow } = temporal.client();
    const begin = (workflowId: string) =>
      workflow.start(agentWorkflow, {
        ...{ taskQueue, workflowId, args: [{ agent: 'weather', input: 'Look.', options }] },
      });
    const [left, right] = await Promise.all([begin('left'), begin('right')]);
    for (const session of ['left', 'right'])
      await waitForRecords(log, sessionId(session), hasText('Half'));
    await right.signal(interruptSignal, 'enough');
    expect(await right.result()).toMatchObject({ session: 'right', stop: { reason: 'aborted' } });
    expect(await left.query(stateQuery)).toMatchObject({ session: 'left', doing: 'request' });
    await left.signal(interruptSignal, 'enough');
    expect(await left.result()).toMatchObject({ session: 'left', stop: { reason: 'aborted' } });
  });
});

temporalTest('a second agent in a session of the same workflow is rejected', async () => {
  const log = memoryLog();
  const agents = [createAgent({ name: 'weather', provider: scriptedProvider(['Fine.']), log })];
  const taskQueue = 'twice';
  await temporal.withWorker({ taskQueue, agents }, async () => {
    const inputs = ['One?', 'Two?'].map((input) => ({ agent: 'weather', input, options }));
    const run = temporal.client().workflow.execute(severalAgentsWorkflow, {
      ...{ taskQueue, workflowId: 'twice', args: [inputs] },
    });
    const message = expect.stringContaining('session of its own');
    const cause = { type: 'millrace.session_in_use', nonRetryable: true, message };
    await expect(run).rejects.toMatchObject({ cause });
  });
});

temporalTest('agents that use one session in sequence lose no message', async () => {
  const log = memoryLog();
  const provider = scriptedProvider(['One.', 'Two.']);
  const agents = [createAgent({ name: 'weather', provider, log })];
  const taskQueue = 'in-a-row';
  await temporal.withWorker({ taskQueue, agents }, async () => {
    const inputs = ['One?', 'Two?'].map((input) => ({ agent: 'weather', input, options }));
    const run = temporal.client().workflow.execute(severalAgentsWorkflow, {
      ...{ taskQueue, workflowId: 'in-a-row', args: [inputs, true] },
    });
    expect(await run).toEqual(['One.', 'Two.']);
  });
  expect(await textsOf(log, sessionId('in-a-row'))).toEqual(['One?', 'One.', 'Two?', 'Two.']);
});

temporalTest('messages for a session that has not started wait for it', async () => {
  const log = memoryLog();
  const provider = scriptedProvider([stalled, 'One.', 'Two.']);
  const agents = [createAgent({ name: 'weather', provider, log })];
  const taskQueue = 'early';
  await temporal.withWorker({ taskQueue, agents }, async () => {
    const inputs = ['now', 'later'].map((session) => ({
      ...{ agent: 'weather', session, input: 'Look.', options },
    }));
    const handle = await temporal.client().workflow.start(severalAgentsWorkflow, {
      ...{ taskQueue, workflowId: 'early', args: [inputs, true] },
    });
    await waitForRecords(log, sessionId('now'), hasText('Half'));
    await handle.signal(messageSignal, 'And?', { session: 'later' });
    await handle.signal(interruptSignal);
    expect(await handle.result()).toEqual(['Half an', 'Two.']);
  });
  expect(await textsOf(log, sessionId('later'))).toEqual(['And?', 'One.', 'Look.', 'Two.']);
});

/** An agent that calls a tool in every turn except the last. */
function busy(log: ReturnType<typeof memoryLog>, turns: number) {
  const calls = Array.from({ length: turns - 1 }, (_, at) => ({
    content: { parts: ['z'.repeat(400), call(`c${at}`)] },
  }));
  const limits = { maxRepeats: turns };
  const provider = scriptedProvider([...calls, 'Fine.']);
  return createAgent({ name: 'weather', provider, tools: [look], log, limits });
}

temporalTest('a workflow of one’s own hands its session on to the next execution', async () => {
  const log = memoryLog();
  const taskQueue = 'handing-on';
  await temporal.withWorker({ taskQueue, agents: [busy(log, 5)] }, async () => {
    const handle = await temporal.client().workflow.start(ownWorkflow, {
      ...{ taskQueue, workflowId: 'handing-on' },
      args: [{ agent: 'weather', input: 'Look.', turnsPerExecution: 2 }],
    });
    expect(await handle.result()).toBe('Fine.');
    const { runId } = await temporal.client().workflow.getHandle('handing-on').describe();
    expect(runId).not.toBe(handle.firstExecutionRunId);
  });
  const texts = await textsOf(log, sessionId('handing-on'));
  expect(texts.filter((text) => text === 'Look.')).toHaveLength(1);
  expect(texts.filter((text) => text.startsWith('y'))).toHaveLength(4);
});

temporalTest(
  'twice the turns take twice the history, for any length of the conversation',
  async () => {
    const sizes: number[] = [];
    for (const turns of [8, 16]) {
      const log = memoryLog();
      const taskQueue = `of-${turns}-turns`;
      await temporal.withWorker({ taskQueue, agents: [busy(log, turns)] }, async () => {
        const handle = await temporal.client().workflow.start(agentWorkflow, {
          ...{ taskQueue, workflowId: taskQueue, args: [{ agent: 'weather', input: 'Look.' }] },
        });
        expect(await handle.result()).toMatchObject({ text: 'Fine.' });
        sizes.push((await handle.describe()).historySize ?? 0);
      });
    }
    const [few = 0, many = 0] = sizes;
    expect(many).toBeGreaterThan(few);
    expect(many / few).toBeLessThan(2.2);
  },
  patientMs(60_000),
);
