import { fileURLToPath } from 'node:url';
import { createAgent, defineTool } from '@millrace/agent';
import { type LogRecord, sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect } from 'vitest';
import { z } from 'zod';
import { createActivities } from '../activities/create-activities.ts';
import { workflowAgent } from '../client/workflow-agent.ts';
import type { MillraceActivities } from '../contract/activities.ts';
import { hasFact, hasText, textsOf, waitForRecords } from '../testing/session-log.ts';
import { temporalTest, useTemporal } from '../testing/use-temporal.ts';
import { autoSendWorkflow, concurrentSendsWorkflow } from '../testing/workflows.ts';
import { agentWorkflow, messageSignal, transcriptQuery } from './index.ts';

const temporal = useTemporal(fileURLToPath(new URL('../testing/workflows.ts', import.meta.url)));

const call: ToolCallPart = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look' },
  arguments: '{}',
};
const stalled = {
  content: { parts: ['Half an answer'] },
  pieces: 'token',
  fault: { type: 'stall', after: 2 },
} as const;

/** Below Temporal's limit in characters, above it in bytes. */
const huge = '水'.repeat(690_000);

temporalTest(
  'a message that is too large for an activity is ignored and the workflow continues',
  async () => {
    const log = memoryLog();
    const provider = scriptedProvider(['One.', 'Two.']);
    const weatherAgent = createAgent({ name: 'weather', provider, log });
    const taskQueue = 'huge';
    await temporal.withWorker({ taskQueue, agents: [weatherAgent] }, async () => {
      const handle = await temporal.client().workflow.signalWithStart(agentWorkflow, {
        ...{ taskQueue, workflowId: 'huge', signal: messageSignal, signalArgs: [huge] },
        args: [{ agent: 'weather', input: 'Look.' }],
      });
      expect(await handle.result()).toMatchObject({ stop: { reason: 'stop' }, text: 'One.' });
    });
    expect(await textsOf(log, sessionId('huge'))).toEqual(['Look.', 'One.']);
  },
);

temporalTest('an input that is too large fails the workflow with the reason', async () => {
  const log = memoryLog();
  const weatherAgent = createAgent({ name: 'weather', provider: scriptedProvider([]), log });
  const taskQueue = 'huge-input';
  const { workflow } = temporal.client();
  await temporal.withWorker({ taskQueue, agents: [weatherAgent], providers: {}, log }, async () => {
    const begun = workflow.execute(agentWorkflow, {
      ...{ taskQueue, workflowId: 'huge-input', args: [{ agent: 'weather', input: huge }] },
    });
    await expect(begun).rejects.toMatchObject({ cause: { type: 'millrace.too_large' } });
    const sent = workflow.execute(autoSendWorkflow, {
      ...{ taskQueue, workflowId: 'huge-sent', args: [huge] },
    });
    await expect(sent).rejects.toMatchObject({ cause: { type: 'millrace.too_large' } });
  });
});

temporalTest('the transcript query works for any length of the conversation', async () => {
  const log = memoryLog();
  const session = sessionId('long');
  const weatherAgent = createAgent({ name: 'weather', provider: scriptedProvider(['Fine.']), log });
  const { millraceSubmit } = createActivities({ agents: [weatherAgent] });
  for (let index = 0; index < 200; index++) {
    const parts = [{ kind: 'text', text: 'x'.repeat(15_000) }];
    const command = {
      type: 'message',
      when: 'steer',
      items: [{ id: `i${index}`, kind: 'user', parts }],
    };
    await millraceSubmit({ agent: 'weather', session, command, key: `${index}` });
  }
  const taskQueue = 'long';
  await temporal.withWorker({ taskQueue, agents: [weatherAgent] }, async () => {
    const handle = await temporal.client().workflow.start(agentWorkflow, {
      ...{ taskQueue, workflowId: session, args: [{ agent: 'weather' }] },
    });
    expect(await handle.result()).toMatchObject({ text: 'Fine.' });
    const { items } = await handle.query(transcriptQuery);
    expect(items).toHaveLength(201);
  });
});

temporalTest('concurrent requests in one session are answered in order', async () => {
  const log = memoryLog();
  const writer = scriptedProvider(['One.', 'Two.']);
  const taskQueue = 'both';
  await temporal.withWorker({ taskQueue, providers: { writer }, log }, async () => {
    const sent = await temporal.client().workflow.execute(concurrentSendsWorkflow, {
      ...{ taskQueue, workflowId: 'both', args: [['A?', 'B?']] },
    });
    expect(sent.map(({ text }) => text)).toEqual(['One.', 'Two.']);
  });
  expect(await textsOf(log, sessionId('both'))).toEqual(['A?', 'One.', 'B?', 'Two.']);
});

const isSecondTurn = (records: readonly LogRecord[]) =>
  records.filter(({ fact }) => fact?.type === 'turn_started').length === 2;

temporalTest(
  'a workflow that is cancelled when it would continue as new is cancelled',
  async () => {
    const log = memoryLog();
    const session = sessionId('cancelled');
    const [lookGate, submitGate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const submitting = Promise.withResolvers<void>();
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({}) },
      execute: () => lookGate.promise.then(() => 'fine'),
    });
    const provider = scriptedProvider([{ content: { parts: [call] } }, stalled]);
    const agents = [createAgent({ name: 'weather', provider, tools: [look], log })];
    const { millraceSubmit: submit } = createActivities({ agents });
    const millraceSubmit: MillraceActivities['millraceSubmit'] = async (input) => {
      if (input.key.endsWith(':2')) {
        submitting.resolve();
        await submitGate.promise;
      }
      return submit(input);
    };
    const taskQueue = 'cancelled';
    await temporal.withWorker({ taskQueue, agents, activities: { millraceSubmit } }, async () => {
      const options = { turnsPerExecution: 1, heartbeatMs: 1_000 };
      const handle = await temporal.client().workflow.start(agentWorkflow, {
        ...{
          taskQueue,
          workflowId: session,
          args: [{ agent: 'weather', input: 'Look.', options }],
        },
      });
      // A signal before the first workflow task would be processed first.
      await waitForRecords(log, session, hasFact('turn_started'));
      await handle.signal(messageSignal, 'And?');
      // The workflow continues as new when this message is on the log.
      await submitting.promise;
      lookGate.resolve();
      await waitForRecords(log, session, isSecondTurn);
      await handle.cancel();
      submitGate.resolve();
      await expect(handle.result()).rejects.toThrow('Workflow execution cancelled');
    });
  },
);

temporalTest('a workflow that is reset drives its session again', async () => {
  const log = memoryLog();
  const session = sessionId('reset');
  const look = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({}) },
    execute: async () => 'fine',
  });
  const provider = scriptedProvider([{ content: { parts: [call] } }, stalled]);
  const agents = [createAgent({ name: 'weather', provider, tools: [look], log })];
  const [taskQueue, client] = ['reset', temporal.client()];
  await temporal.withWorker({ taskQueue, agents }, async () => {
    const options = { heartbeatMs: 1_000 };
    const handle = await client.workflow.start(agentWorkflow, {
      ...{ taskQueue, workflowId: session, args: [{ agent: 'weather', input: 'Look.', options }] },
    });
    await waitForRecords(log, session, hasText('Half'));
    const { events } = await handle.fetchHistory();
    const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    const { runId } = await client.workflowService.resetWorkflowExecution({
      ...{ namespace: 'default', reason: 'a test', requestId: 'reset' },
      workflowExecution: { workflowId: session, runId: handle.firstExecutionRunId },
      workflowTaskFinishEventId: first?.eventId ?? null,
    });
    const again = client.workflow.getHandle<typeof agentWorkflow>(session, runId);
    expect(await again.result()).toMatchObject({ session });
  });
  expect((await log.info(session))?.lease).toBeUndefined();
});

temporalTest('workflowAgent starts a workflow of another type on request', async () => {
  const log = memoryLog();
  const weatherAgent = createAgent({ name: 'weather', provider: scriptedProvider(['Fine.']), log });
  const [taskQueue, client] = ['named', temporal.client()];
  const workflowType = 'supportWorkflow';
  const agent = workflowAgent({ client, log, taskQueue, workflowType, name: 'weather' });
  await temporal.withWorker({ taskQueue, agents: [weatherAgent] }, async () => {
    const { result, session } = agent.run('Look.');
    expect(await result).toMatchObject({ stop: { reason: 'stop' } });
    const { type } = await client.workflow.getHandle(session).describe();
    expect(type).toBe('supportWorkflow');
  });
});
