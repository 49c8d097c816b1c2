import { writeFileSync } from 'node:fs';
import { createAgent, defineTool } from '@millrace/agent';
import { createClient, type TaskSnapshot } from '@millrace/client';
import { sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import type { Provider } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { manualProvider } from '../activities/manual-provider.ts';
import { workflowsPath } from '../plugin.ts';
import { hasFact, textsOf, waitForRecords } from '../testing/session-log.ts';
import { endWorkers, startWorker } from '../testing/start-worker.ts';
import { temporalTest, useTemporal } from '../testing/use-temporal.ts';
import type { WorkerConfig } from '../testing/worker-process.ts';
import { workflowAgent } from './workflow-agent.ts';

const temporal = useTemporal(workflowsPath);
afterEach(endWorkers);

type Task = Awaited<ReturnType<ReturnType<typeof createClient>['createTask']>>;

interface ServedTask {
  readonly log: Log;
  readonly file: string;
  readonly taskQueue: string;
  readonly task: Task;
  /** All answers that the page would have shown, in order. */
  readonly shown: readonly string[];
}

/**
 * A server with a log in a file whose agent runs as a workflow, and a client that watches a task.
 */
async function withServer(name: string, work: (stage: ServedTask) => Promise<void>): Promise<void> {
  const file = temporal.file(`${name}.db`);
  const log = sqliteLog({ path: file });
  const agent = workflowAgent({
    ...{ client: temporal.client(), log, name: 'weather', taskQueue: name },
    options: { heartbeatMs: 1_000 },
  });
  const agents = [{ type: 'loop', name: 'weather', agent }] as const;
  const server = createServer({ tokens: 'none', agents, log });
  const { url } = await server.listen({ port: 0 });
  const client = createClient({ url });
  const task = await client.createTask({ agent: 'weather' });
  const shown: string[] = [];
  const leave = task.subscribe(() => {
    const text = answerOf(task.snapshot());
    if (text !== shown.at(-1)) shown.push(text);
  });
  try {
    await work({ log, file, taskQueue: name, task, shown });
  } finally {
    leave();
    client.close();
    await server.close();
    await log.close();
  }
}

function answerOf({ items }: Pick<TaskSnapshot, 'items'>): string {
  const last = items.findLast(({ kind }) => kind === 'assistant');
  return (last?.parts ?? []).map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

const isDone = ({ isRunning, items }: TaskSnapshot) =>
  !isRunning && items.some(({ kind }) => kind === 'assistant');

function configFor(
  { file, taskQueue }: ServedTask,
  behavior: WorkerConfig['behavior'],
): WorkerConfig {
  const bundle = temporal.file('workflows.cjs');
  writeFileSync(bundle, temporal.bundle().code);
  return { address: temporal.address(), taskQueue, file, bundle, behavior };
}

const call: ToolCallPart = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
};
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'it is there',
});

/** A worker in this process that uses the same file as the server. */
async function withLocalWorker(
  { file, taskQueue }: ServedTask,
  script: readonly ScriptEntry[],
  options: Partial<Parameters<typeof createAgent>[0]>,
  work: () => Promise<void>,
): Promise<void> {
  const log = sqliteLog({ path: file });
  const provider = scriptedProvider(script, { pieces: 'token' });
  const agent = createAgent({ name: 'weather', provider, tools: [look], log, ...options });
  try {
    await temporal.withWorker({ taskQueue, agents: [agent] }, work);
  } finally {
    await log.close();
  }
}

temporalTest('the run of a workflow with tools streams to SSE clients of the task', () =>
  withServer('streams', async (stage) => {
    const { task, log, shown } = stage;
    const seen = Promise.withResolvers<void>();
    const { provider: hand } = manualProvider(async (stream) => {
      stream.write('It is there,');
      await seen.promise;
      stream.write(' and it works.');
    });
    const scripted = scriptedProvider([{ content: { parts: ['Let me see. ', call] } }]);
    const isFirst = () => scripted.requests.length === 0;
    const stream: Provider['stream'] = (...asked) => (isFirst() ? scripted : hand).stream(...asked);
    await withLocalWorker(stage, [], { provider: { ...scripted, stream } }, async () => {
      await task.send('Is it there?');
      await task.until((now) => now.isRunning && answerOf(now) === 'It is there,');
      seen.resolve();
      await task.until((now) => isDone(now) && answerOf(now).endsWith('works.'));
    });
    expect(await textsOf(log, sessionId(task.id))).toEqual([
      'Is it there?',
      'Let me see. ',
      'it is there',
      'It is there, and it works.',
    ]);
    expect(shown).toEqual(expect.arrayContaining(['It is there,', 'It is there, and it works.']));
  }),
);

temporalTest('a client stops, approves and continues the task like any other', () =>
  withServer('commands', async (stage) => {
    const { task, log } = stage;
    const stall = { type: 'stall', after: 2 } as const;
    const stalled = { content: { parts: ['One moment please'] }, fault: stall };
    const script: ScriptEntry[] = [{ content: { parts: [call] } }, stalled, 'Back again.'];
    await withLocalWorker(stage, script, { approve: () => 'ask' }, async () => {
      await task.send('Look.');
      await task.until(({ pendingApprovals }) => pendingApprovals.length === 1);
      await task.approve(toolCallId('c1'));
      await task.until((now) => answerOf(now).startsWith('One'));
      await task.stop('enough');
      await task.until((now) => now.task?.status === 'INTERRUPTED');
      await task.send('And now?');
      await task.until((now) => isDone(now) && answerOf(now) === 'Back again.');
    });
    expect((await textsOf(log, sessionId(task.id))).slice(0, 2)).toEqual(['Look.', 'it is there']);
  }),
);

temporalTest('after a worker is killed, another one replaces its partial answer exactly once', () =>
  withServer('killed', async (stage) => {
    const { task, log, shown } = stage;
    const session = sessionId(task.id);
    const first = await startWorker(configFor(stage, 'stalls'));
    await task.send('Answer.');
    await task.until((now) => answerOf(now) === 'Half an answer');
    first.kill('SIGKILL');
    await first.end();
    const second = await startWorker(configFor(stage, 'whole'));
    try {
      await task.until((now) => isDone(now) && answerOf(now) === 'A whole answer.');
    } finally {
      await second.end();
    }
    expect(await textsOf(log, session)).toEqual(['Answer.', 'A whole answer.']);
    expect(shown.indexOf('Half an answer')).toBeGreaterThanOrEqual(0);
    expect(shown.indexOf('Half an answer')).toBeLessThan(shown.indexOf('A whole answer.'));
    const records = await waitForRecords(log, session, hasFact('run_finished'));
    const superseded = records.filter(({ fact }) => fact?.type === 'attempt_superseded');
    expect(superseded).toHaveLength(1);
  }),
);

temporalTest('a worker that was only paused is fenced: its later output is not stored', () =>
  withServer('zombie', async (stage) => {
    const { task, log } = stage;
    const session = sessionId(task.id);
    const workflows = { bundle: undefined };
    const zombie = await startWorker({ ...configFor(stage, 'babbles'), ...workflows });
    await temporal.withWorkflows(stage.taskQueue, async () => {
      await task.send('Answer.');
      await task.until((now) => answerOf(now).startsWith('Half an answer'));
      zombie.kill('SIGUSR2'); // The process stops itself.
      const other = await startWorker({ ...configFor(stage, 'whole'), ...workflows });
      await task.until((now) => isDone(now) && answerOf(now) === 'A whole answer.');
      await other.end();
    });
    zombie.kill('SIGCONT');
    await zombie.waitFor('left');
    await zombie.end();
    expect(await textsOf(log, session)).toEqual(['Answer.', 'A whole answer.']);
    const records = await waitForRecords(log, session, hasFact('run_finished'));
    const at = records.findIndex(({ fact }) => fact?.type === 'attempt_superseded');
    expect(
      records.slice(at + 1).filter(({ turn, attempt }) => turn === 1 && attempt === 1),
    ).toEqual([]);
  }),
);

temporalTest('a tool that must not run twice does not run again after its worker was killed', () =>
  withServer('lost', async (stage) => {
    const { task, log } = stage;
    const first = await startWorker(configFor(stage, 'looks'));
    await task.send('Look.');
    await first.waitFor('looking');
    first.kill('SIGKILL');
    await first.end();
    await withLocalWorker(stage, ['I had better ask.'], {}, async () => {
      await task.until((now) => isDone(now) && answerOf(now) === 'I had better ask.');
    });
    const [, result, answer] = await textsOf(log, sessionId(task.id));
    expect(result).toMatch(/nobody knows whether it was done/);
    expect(answer).toBe('I had better ask.');
  }),
);
