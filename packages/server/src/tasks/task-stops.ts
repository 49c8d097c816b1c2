import { unlessLate } from '../agents/abort-race.ts';
import type { AgentDirectory, FoundAgent } from '../agents/agent-directory.ts';
import type { AsyncRunner } from '../agents/handlers/async-runner.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import { reasonOf } from '../contract/server-error.ts';
import type { DeleteResult, TaskChange } from '../contract/service.ts';
import type { Task } from '../contract/task.ts';
import { changedStatus } from '../stores/task-status.ts';
import type { KeptTask } from '../stores/task-store.ts';

interface TaskStopsOptions extends RunnerOptions {
  readonly directory: AgentDirectory;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
}

const said: Readonly<Record<TaskChange, string>> = {
  complete: 'Task completed',
  fail: 'Task failed',
  cancel: 'Task canceled',
  interrupt: 'Task interrupted',
  terminate: 'Task terminated',
  timeout: 'Task timed out',
};

/** Ends of tasks that somebody asks for. The row says so first; then what goes on is stopped. */
export class TaskStops {
  readonly #options: TaskStopsOptions;

  constructor(options: TaskStopsOptions) {
    this.#options = options;
  }

  async change(id: string, change: TaskChange, reason: string = said[change]): Promise<Task> {
    const { tasks } = this.#options;
    const kept = await tasks.get({ id });
    const task = await tasks.setStatus(id, (now) => changedStatus(id, now, change), reason);
    await this.#stop(kept, change, reason);
    return task;
  }

  async delete(id: string): Promise<DeleteResult> {
    const { tasks } = this.#options;
    const kept = await tasks.get({ id });
    await tasks.setStatus(id, () => 'DELETED', 'Task deleted');
    await this.#stop(kept, 'terminate', 'Task deleted');
    return { id, message: `Task ${id} was deleted` };
  }

  async #stop(kept: KeptTask, change: TaskChange, reason: string): Promise<void> {
    const { works, loops, directory } = this.#options;
    const { id } = kept.task;
    const agent = (await directory.find(kept.agentId))?.agent;
    const kind = change === 'interrupt' ? 'interrupt' : 'close_task';
    if (agent?.type === 'loop') await loops.stop(id, agent, reason);
    else await works.stop(id, kind, reason);
    await this.#tell(kept, agent, change).catch((error: unknown) => this.#untold(id, error));
  }

  #untold(taskId: string, error: unknown): void {
    this.#options.onDiagnostic(`Task ${taskId}: its agent was not told: ${reasonOf(error)}`);
  }

  async #tell(
    kept: KeptTask,
    agent: FoundAgent['agent'] | undefined,
    change: TaskChange,
  ): Promise<void> {
    const { async, loops, clock, graceMs } = this.#options;
    const { task } = kept;
    const isLast = change === 'cancel' || change === 'terminate';
    if (change === 'interrupt' && agent !== undefined && 'onInterrupt' in agent)
      return void agent.onInterrupt(task).catch((error) => this.#untold(task.id, error));
    if (!isLast || agent === undefined) return;
    if (agent.type === 'loop') return loops.clear(task.id);
    // One of another process hears of it when it does; a handler that takes its time is not waited for.
    if (agent.type === 'async') await unlessLate(async.cancelled(kept), clock, 2 * graceMs);
  }
}
