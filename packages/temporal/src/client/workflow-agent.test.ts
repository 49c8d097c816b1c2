import { writeFileSync } from 'node:fs';
import { createAgent, defineTool } from '@millrace/agent';
import { createClient, type TaskSnapshot } from '@millrace/client';
import { sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import type { Provider } from '@millrace/providers';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { afterEach, expect } from 'vitest';
import { z } from 'zod';
import { handFedProvider } from '../activities/manual-provider.ts';
import { workflowsPath } from '../plugin.ts';
import { having, textsOf, until } from '../testing/session-log.ts';
import { endWorkers, startWorker } from '../testing/start-worker.ts';
import { temporalTest, useTemporal } from '../testing/use-temporal.ts';
import type { WorkerOrder } from '../testing/worker-process.ts';
import { workflowAgent } from './workflow-agent.ts';

const temporal = useTemporal(workflowsPath);
afterEach(endWorkers);

type Task = Awaited<ReturnType<ReturnType<typeof createClient>['createTask']>>;

interface Served {
  readonly log: Log;
  readonly file: string;
  readonly taskQueue: string;
  readonly task: Task;
  /** All that the page would have shown, in order. */
  readonly shown: readonly string[];
}

/** A server on a file, whose agent's runs are workflows, and a client that watches a task. */
async function served(name: string, work: (stage: Served) => Promise<void>): Promise<void> {
  const file = temporal.file(`${name}.db`);
  const log = sqliteLog({ path: file });
  const agent = workflowAgent({
    ...{ client: temporal.client(), log, name: 'miller', taskQueue: name },
    options: { heartbeatMs: 1_000 },
  });
  const server = createServer({ agents: [{ type: 'loop', name: 'miller', agent }], log });
  const { url } = await server.listen({ port: 0 });
  const client = createClient({ url });
  const task = await client.createTask({ agent: 'miller' });
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

function orderFor({ file, taskQueue }: Served, does: WorkerOrder['does']): WorkerOrder {
  const bundle = temporal.file('workflows.cjs');
  writeFileSync(bundle, temporal.bundle().code);
  return { address: temporal.address(), taskQueue, file, bundle, does };
}

const call: ToolCallPart = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
};
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'it is there',
});

/** A worker of this process, on the same file as the server. */
async function withMiller(
  { file, taskQueue }: Served,
  script: readonly Scripted[],
  options: Partial<Parameters<typeof createAgent>[0]>,
  work: () => Promise<void>,
): Promise<void> {
  const log = sqliteLog({ path: file });
  const provider = scriptedProvider(script, { pieces: 'token' });
  const agent = createAgent({ name: 'miller', provider, tools: [look], log, ...options });
  try {
    await temporal.withWorker({ taskQueue, agents: [agent] }, work);
  } finally {
    await log.close();
  }
}

temporalTest('a workflow’s run with tools streams to whoever watches the task by SSE', () =>
  served('streams', async (stage) => {
    const { task, log, shown } = stage;
    const seen = Promise.withResolvers<void>();
    const { provider: hand } = handFedProvider(async (stream) => {
      stream.write('It is there,');
      await seen.promise;
      stream.write(' and it turns.');
    });
    const scripted = scriptedProvider([{ content: { parts: ['Let me see. ', call] } }]);
    const isFirst = () => scripted.calls.length === 0;
    const stream: Provider['stream'] = (...asked) => (isFirst() ? scripted : hand).stream(...asked);
    await withMiller(stage, [], { provider: { ...scripted, stream } }, async () => {
      await task.send('Is it there?');
      await task.until((now) => now.isRunning && answerOf(now) === 'It is there,');
      seen.resolve();
      await task.until((now) => isDone(now) && answerOf(now).endsWith('turns.'));
    });
    expect(await textsOf(log, sessionId(task.id))).toEqual([
      'Is it there?',
      'Let me see. ',
      'it is there',
      'It is there, and it turns.',
    ]);
    expect(shown).toEqual(expect.arrayContaining(['It is there,', 'It is there, and it turns.']));
  }),
);

temporalTest('a task is stopped, approved and gone on with by the page, as any other', () =>
  served('commands', async (stage) => {
    const { task, log } = stage;
    const stall = { type: 'stall', after: 2 } as const;
    const stalled = { content: { parts: ['One moment please'] }, fault: stall };
    const script: Scripted[] = [{ content: { parts: [call] } }, stalled, 'Back again.'];
    await withMiller(stage, script, { approve: () => 'ask' }, async () => {
      await task.send('Look.');
      await task.until(({ approvals }) => approvals.length === 1);
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

temporalTest(
  'a worker that is killed is followed by another: its words are replaced, and there once',
  () =>
    served('killed', async (stage) => {
      const { task, log, shown } = stage;
      const session = sessionId(task.id);
      const first = await startWorker(orderFor(stage, 'stalls'));
      await task.send('Answer.');
      await task.until((now) => answerOf(now) === 'Half an answer');
      first.kill('SIGKILL');
      await first.end();
      const second = await startWorker(orderFor(stage, 'whole'));
      try {
        await task.until((now) => isDone(now) && answerOf(now) === 'A whole answer.');
      } finally {
        await second.end();
      }
      expect(await textsOf(log, session)).toEqual(['Answer.', 'A whole answer.']);
      expect(shown.indexOf('Half an answer')).toBeGreaterThanOrEqual(0);
      expect(shown.indexOf('Half an answer')).toBeLessThan(shown.indexOf('A whole answer.'));
      const records = await until(log, session, having('run_finished'));
      const superseded = records.filter(({ fact }) => fact?.type === 'attempt_superseded');
      expect(superseded).toHaveLength(1);
    }),
);

temporalTest('a worker that was only stopped is a zombie: what it says afterwards is nowhere', () =>
  served('zombie', async (stage) => {
    const { task, log } = stage;
    const session = sessionId(task.id);
    const workflows = { bundle: undefined };
    const zombie = await startWorker({ ...orderFor(stage, 'babbles'), ...workflows });
    await temporal.withWorkflows(stage.taskQueue, async () => {
      await task.send('Answer.');
      await task.until((now) => answerOf(now).startsWith('Half an answer'));
      zombie.kill('SIGUSR2'); // it stops itself
      const other = await startWorker({ ...orderFor(stage, 'whole'), ...workflows });
      await task.until((now) => isDone(now) && answerOf(now) === 'A whole answer.');
      await other.end();
    });
    zombie.kill('SIGCONT');
    await zombie.told('left');
    await zombie.end();
    expect(await textsOf(log, session)).toEqual(['Answer.', 'A whole answer.']);
    const records = await until(log, session, having('run_finished'));
    const at = records.findIndex(({ fact }) => fact?.type === 'attempt_superseded');
    expect(
      records.slice(at + 1).filter(({ turn, attempt }) => turn === 1 && attempt === 1),
    ).toEqual([]);
  }),
);

temporalTest('a tool that must not run twice is not, when its worker is killed in it', () =>
  served('lost', async (stage) => {
    const { task, log } = stage;
    const first = await startWorker(orderFor(stage, 'looks'));
    await task.send('Look.');
    await first.told('looking');
    first.kill('SIGKILL');
    await first.end();
    await withMiller(stage, ['I had better ask.'], {}, async () => {
      await task.until((now) => isDone(now) && answerOf(now) === 'I had better ask.');
    });
    const [, result, answer] = await textsOf(log, sessionId(task.id));
    expect(result).toMatch(/nobody knows whether it was done/);
    expect(answer).toBe('I had better ask.');
  }),
);
