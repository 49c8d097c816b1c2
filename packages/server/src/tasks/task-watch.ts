import { reasonOf } from '../agents/reason-of.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import type { Recovery } from './recovery.ts';

export interface WatchOptions extends RunnerOptions {
  readonly recovery: Recovery;
  readonly everyMs: number;
  /** From 0 up to 1, so that several servers do not look at once. */
  readonly random: () => number;
}

/**
 * Looks at what other processes of the same files do: what a dead one left is taken up, and what goes
 * on here is stopped where another one was asked to.
 */
export class TaskWatch {
  readonly #options: WatchOptions;
  #cancel: () => void = () => {};
  #isStopped = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStopped) return;
    const { clock, everyMs, random } = this.#options;
    const look = () => {
      this.#looking = this.look().then(() => this.start());
    };
    this.#cancel = clock.after(everyMs * (0.75 + random() / 2), look, { isIdle: true });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#looking;
  }

  /** Once. */
  async look(): Promise<void> {
    const { recovery, onDiagnostic } = this.#options;
    try {
      await this.#stopWhatWasStopped();
      await recovery.takeSome();
    } catch (error) {
      onDiagnostic(`Cannot look for tasks that wait: ${reasonOf(error)}`);
    }
  }

  async #stopWhatWasStopped(): Promise<void> {
    const { works, tasks } = this.#options;
    for (const taskId of works.going) {
      const status = (await tasks.find({ id: taskId }))?.task.status ?? 'DELETED';
      if (status === 'RUNNING') continue;
      const kind = status === 'INTERRUPTED' ? 'interrupt' : 'close_task';
      // Nobody waits for its end.
      works.stop(taskId, kind, `The task is ${status}`).catch(() => {});
    }
  }
}
