import type { SessionId } from '@millrace/core';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import type { AsyncRunner } from '../agents/async-runner.ts';
import type { LoopRunner } from '../agents/loop-runner.ts';
import { reasonOf } from '../agents/reason-of.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';

export interface RecoveryOptions extends RunnerOptions {
  readonly directory: AgentDirectory;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
}

const pageLength = 100;

/** Takes up what was left by processes that are gone. */
export async function recoverTasks(options: RecoveryOptions): Promise<void> {
  const { log, onDiagnostic } = options;
  for (let after: SessionId | undefined; ; ) {
    const page = await log.list({ isWaiting: true, limit: pageLength, after });
    for (const { session } of page)
      await recover(options, session).catch((error: unknown) =>
        onDiagnostic(`Task ${session}: cannot be taken up: ${reasonOf(error)}`),
      );
    after = page.at(-1)?.session;
    if (after === undefined) return;
  }
}

async function recover(options: RecoveryOptions, taskId: string): Promise<void> {
  const { tasks, directory, journals, async, loops } = options;
  const kept = await tasks.find({ id: taskId });
  const agent = kept && (await directory.find(kept.agentId))?.agent;
  // Not a task, or one of an agent that does not run any more.
  if (agent === undefined) return;
  if (agent.type === 'loop') {
    // What waits in the queue of one that was stopped waits until somebody says something.
    if (kept?.task.status === 'RUNNING') loops.wake(taskId, agent.agent);
    return;
  }
  await journals.use(taskId, (journal) => journal.append([]));
  if (agent.type === 'async') async.wake(taskId);
}
