import { raceTimeout } from '../agents/abort-race.ts';
import type { AgentDirectory, ResolvedAgent } from '../agents/agent-directory.ts';
import type { AsyncRunner } from '../agents/handlers/async-runner.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import { errorReason } from '../contract/server-error.ts';
import type { DeleteResult, TaskChange } from '../contract/service.ts';
import type { Task } from '../contract/task.ts';
import { nextStatus } from '../stores/task-status.ts';
import type { StoredTask } from '../stores/task-store.ts';
import { deleteTokensOf } from '../stores/token-rows.ts';

interface TaskStopperOptions extends RunnerOptions {
  readonly directory: AgentDirectory;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
  /** Called with the id of a task's token after the token was revoked. */
  readonly onTokenRevoked: (id: string) => void;
}

const defaultReasons: Readonly<Record<TaskChange, string>> = {
  complete: 'Task completed',
  fail: 'Task failed',
  cancel: 'Task canceled',
  interrupt: 'Task interrupted',
  terminate: 'Task terminated',
  timeout: 'Task timed out',
};

/** Stops tasks on request. It first sets the status in the row, and then it stops the current work. */
export class TaskStopper {
  readonly #options: TaskStopperOptions;

  constructor(options: TaskStopperOptions) {
    this.#options = options;
  }

  async change(
    id: string,
    change: TaskChange,
    reason: string = defaultReasons[change],
  ): Promise<Task> {
    const { tasks } = this.#options;
    const stored = await tasks.get({ id });
    const task = await tasks.setStatus(id, (now) => nextStatus(id, now, change), reason);
    await this.#stop(stored, change, reason);
    return task;
  }

  async delete(id: string): Promise<DeleteResult> {
    const { tasks, rows, onTokenRevoked } = this.#options;
    const stored = await tasks.get({ id });
    await tasks.setStatus(id, () => 'DELETED', 'Task deleted');
    // First the task gets the status `DELETED`, and then its tokens are deleted. A request that creates a
    // token between these two steps therefore finds no task.
    for (const token of await deleteTokensOf(rows, { task_id: id })) onTokenRevoked(token);
    await this.#stop(stored, 'terminate', 'Task deleted');
    return { id, message: `Task ${id} was deleted` };
  }

  async #stop(stored: StoredTask, change: TaskChange, reason: string): Promise<void> {
    const { queues, loops, directory } = this.#options;
    const { id } = stored.task;
    const agent = (await directory.find(stored.agentId))?.agent;
    const kind = change === 'interrupt' ? 'interrupt' : 'close_task';
    if (agent?.type === 'loop') await loops.stop(id, agent, reason);
    else await queues.stop(id, kind, reason);
    await this.#notifyAgent(stored, agent, change).catch((error: unknown) =>
      this.#reportNotifyFailure(id, error),
    );
  }

  #reportNotifyFailure(taskId: string, error: unknown): void {
    this.#options.onDiagnostic(`Task ${taskId}: cannot notify its agent: ${errorReason(error)}`);
  }

  async #notifyAgent(
    stored: StoredTask,
    agent: ResolvedAgent['agent'] | undefined,
    change: TaskChange,
  ): Promise<void> {
    const { async, loops, clock, graceMs } = this.#options;
    const { task } = stored;
    const isFinal = change === 'cancel' || change === 'terminate';
    if (change === 'interrupt' && agent !== undefined && 'onInterrupt' in agent)
      return void agent
        .onInterrupt(task)
        .catch((error) => this.#reportNotifyFailure(task.id, error));
    if (!isFinal || agent === undefined) return;
    if (agent.type === 'loop') return loops.clear(task.id);
    // The wait for a slow handler is limited. A remote agent is notified without waiting for its response.
    if (agent.type === 'async') await raceTimeout(async.taskCancelled(stored), clock, 2 * graceMs);
  }
}
