import { fileURLToPath } from 'node:url';
import { createAgent, defineTool } from '@millrace/agent';
import { sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';
import { z } from 'zod';
import { streamingContext } from '../activities/index.ts';
import { hasFact, hasText, waitForRecords } from '../testing/session-log.ts';
import { temporalTest, useTemporal } from '../testing/use-temporal.ts';
import { shoutWorkflow } from '../testing/workflows.ts';
import { agentWorkflow, messageSignal, wakeSignal } from './index.ts';

const temporal = useTemporal(fileURLToPath(new URL('../testing/workflows.ts', import.meta.url)));

const call: ToolCallPart = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look' },
  arguments: '{}',
};
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'fine',
});
const stalled = {
  content: { parts: ['Half an answer'] },
  pieces: 'token',
  fault: { type: 'stall', after: 2 },
} as const;

/**
 * Runs a workflow whose session is deleted meanwhile, and expects that it fails with the reason.
 */
async function withDeletedSession(
  name: string,
  script: readonly ScriptEntry[],
  work: (log: Log, handle: WorkflowHandle) => Promise<void>,
): Promise<Log> {
  const log = memoryLog();
  const provider = scriptedProvider(script);
  const agents = [
    createAgent({ name: 'weather', provider, tools: [look], log, approve: () => 'ask' }),
  ];
  await temporal.withWorker({ taskQueue: name, agents }, async () => {
    const options = { heartbeatMs: 1_000, idleMs: 60_000 };
    const handle = await temporal.client().workflow.start(agentWorkflow, {
      ...{ taskQueue: name, workflowId: name },
      args: [{ agent: 'weather', input: 'Look.', options }],
    });
    await work(log, handle);
    const cause = { type: 'millrace.no_session', nonRetryable: true };
    await expect(handle.result()).rejects.toMatchObject({ cause });
  });
  return log;
}

temporalTest('a session that is deleted during an answer is not created again', async () => {
  const session = sessionId('deleted-speaking');
  const log = await withDeletedSession(session, [stalled, 'Again.'], async (log) => {
    await waitForRecords(log, session, hasText('Half'));
    await log.delete(session);
  });
  expect(await log.info(session)).toBeUndefined();
});

temporalTest('a workflow whose session is deleted during an approval ends on wake', async () => {
  const session = sessionId('deleted-asking');
  const log = await withDeletedSession(
    session,
    [{ content: { parts: [call] } }],
    async (log, handle) => {
      await waitForRecords(log, session, hasFact('approval_asked'));
      await log.delete(session);
      await handle.signal(wakeSignal);
    },
  );
  expect(await log.info(session)).toBeUndefined();
});

temporalTest('a message after the deletion does not start another session', async () => {
  const session = sessionId('deleted-idle');
  const log = await withDeletedSession(session, ['Fine.'], async (log, handle) => {
    await waitForRecords(log, session, hasFact('run_finished'));
    // The step that ended the run has released the session.
    while ((await log.info(session))?.lease !== undefined) await new Promise(setImmediate);
    await log.delete(session);
    await handle.signal(messageSignal, 'And?');
  });
  expect(await log.info(session)).toBeUndefined();
});

temporalTest('a new session with the same name is not used', async () => {
  const session = sessionId('deleted-anew');
  const log = await withDeletedSession(
    session,
    [{ content: { parts: [call] } }],
    async (log, handle) => {
      await waitForRecords(log, session, hasFact('approval_asked'));
      const { createdAt = 0 } = (await log.info(session)) ?? {};
      await log.delete(session);
      while (Date.now() <= createdAt) await new Promise(setImmediate);
      await log.submit(session, { type: 'message', when: 'follow_up', items: [] }, 'key');
      await handle.signal(wakeSignal);
    },
  );
  expect(await log.info(session)).toMatchObject({ through: 1 });
});

temporalTest('a streaming context whose session is deleted fails without a retry', async () => {
  const log = memoryLog();
  const session = sessionId('deleted-shouting');
  let tries = 0;
  const shout = (text: string) =>
    streamingContext({ log }, async (stream) => {
      tries += 1;
      stream.write(text);
      await waitForRecords(log, session, hasText(text));
      await log.delete(session);
      stream.write('more');
    });
  const taskQueue = 'deleted-shouting';
  await temporal.withWorker({ taskQueue, activities: { shout } }, async () => {
    const run = temporal.client().workflow.execute(shoutWorkflow, {
      ...{ taskQueue, workflowId: session, args: ['hello'] },
    });
    const cause = { cause: { type: 'millrace.no_session' } };
    await expect(run).rejects.toMatchObject({ cause });
  });
  expect(tries).toBe(1);
  expect(await log.info(session)).toBeUndefined();
});
