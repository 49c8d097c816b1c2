import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, type Run } from '@millrace/agent';
import { type LogRecord, type Part, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findLogProblems } from '../../agent/src/testing/check-log.ts';
import { bashTool } from './shell/bash-tool.ts';
import { subAgentsTool } from './sub-agents/sub-agents-tool.ts';
import { nextRequestFaults } from './testing/next-request.ts';
import { isGone, pidsIn, processesIn, until } from './testing/processes.ts';
import { temporaryFolder } from './testing/temporary-folder.ts';
import { createWorkspace } from './workspace/workspace.ts';

// Only the model is scripted. The agent, the shell, the processes and the time are real.

const session = sessionId('s');

const callOf = (name: string, input: object) =>
  ({
    kind: 'tool_call',
    toolCallId: toolCallId('c'),
    name,
    arguments: JSON.stringify(input),
  }) as const;

/** Starts an agent that runs a command. `started` resolves when the command has started. */
function startCommand(command: string, onStarted: (run: Run) => void = () => {}) {
  const root = temporaryFolder();
  const log = memoryLog();
  const records: LogRecord[] = [];
  const started = Promise.withResolvers<void>();
  const agent = createAgent({
    provider: scriptedProvider([
      { content: { parts: ['I wait.', callOf('bash', { command })] } },
      'Never said.',
    ]),
    tools: [bashTool({ workspace: createWorkspace({ root }) })],
    log,
    observers: [
      (record, events) => {
        records.push(record);
        if (!events.some(({ type }) => type === 'tool_execution_started')) return;
        started.resolve();
        onStarted(run);
      },
    ],
  });
  const run: Run = agent.run('Sleep', { session });
  return { run, log, records, root, started: started.promise };
}

/** Checks the records of an aborted session and its next request. */
async function checkAborted({ run, log, records }: ReturnType<typeof startCommand>): Promise<void> {
  const { stop } = await run.result;
  expect(stop.reason).toBe('aborted');
  const facts = records.flatMap(({ fact }) => fact ?? []);
  expect(facts).toContainEqual({ type: 'aborted', reason: 'enough' });
  expect(facts.at(-1)).toMatchObject({ type: 'run_finished', stop: { reason: 'aborted' } });
  expect((await log.read(session)).records).toEqual(records);
  expect(findLogProblems(session, records)).toEqual([]);
  expect(await nextRequestFaults(log, session)).toEqual([]);
}

async function resultsOf({ result }: Run) {
  const parts = (await result).items.flatMap((item): readonly Part[] => item.parts);
  return parts.filter((part) => part.kind === 'tool_result');
}

// These tests use the default grace times, to check that those of the loop and of the tool fit together.
describe.each([
  ['that sleeps', ''],
  ['that ignores SIGTERM', 'trap "" TERM; '],
])('a process %s', (_what, first) => {
  test('has ended before the aborted run resolves', async () => {
    const running = startCommand(
      `${first}echo $$ > pids; sleep 100 & echo $! >> pids; echo said; touch ready; wait`,
    );
    await running.started;
    await until(() => existsSync(join(running.root, 'ready')));
    // The shell and the process that it waits for.
    const pids = pidsIn(join(running.root, 'pids'));
    onTestFinished(() => {
      for (const pid of pids) if (!isGone(pid)) process.kill(pid, 'SIGKILL');
    });
    expect(pids.map(isGone)).toEqual([false, false]);

    await running.run.abort('enough');
    await running.run.result;
    // This check comes first, so that the processes get no extra time to end.
    expect(pids.map(isGone)).toEqual([true, true]);

    expect(await resultsOf(running.run)).toEqual([
      expect.objectContaining({
        toolCallId: 'c',
        isError: true,
        text: 'said\n[It was aborted before it finished]',
      }),
    ]);
    await checkAborted(running);
  });
});

test('a process of a sub-agent has ended before the aborted run of its caller resolves', async () => {
  const root = temporaryFolder();
  const log = memoryLog();
  const command = 'echo $$ > pids; touch ready; sleep 100; exit';
  const worker = createAgent({
    provider: scriptedProvider([{ content: { parts: [callOf('bash', { command })] } }]),
    tools: [bashTool({ workspace: createWorkspace({ root }) })],
    log,
  });
  const agents = { worker: { agent: worker, description: 'Works' } };
  const caller = createAgent({
    provider: scriptedProvider([{ content: { parts: [callOf('task', { task: 'Sleep' })] } }]),
    tools: [subAgentsTool({ agents })],
    log,
  });
  const run = caller.run('Sleep', { session });
  await until(() => existsSync(join(root, 'ready')));
  const [pid = 0] = pidsIn(join(root, 'pids'));
  expect(isGone(pid)).toBe(false);
  await run.abort('enough');
  await run.result;
  expect(isGone(pid)).toBe(true);
  const sessions = await log.list();
  expect(sessions).toHaveLength(2);
  for (const info of sessions) {
    const { records } = await log.read(info.session);
    expect(records.at(-1)?.fact).toMatchObject({
      type: 'run_finished',
      stop: { reason: 'aborted' },
    });
    expect(await nextRequestFaults(log, info.session)).toEqual([]);
  }
});

test.runIf(existsSync('/proc/self/cwd'))(
  'an abort while a process starts leaves no process behind',
  async () => {
    const running = startCommand('touch ready; sleep 100', (run) => void run.abort('enough'));
    await running.run.result;
    expect(processesIn(running.root)).toEqual([]);
    expect(await resultsOf(running.run)).toEqual([expect.objectContaining({ isError: true })]);
    await checkAborted(running);
  },
);
