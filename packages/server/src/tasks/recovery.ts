import type { SessionId } from '@millrace/core';
import type { SessionInfo } from '@millrace/log';
import type { AgentDirectory, FoundAgent } from '../agents/agent-directory.ts';
import type { AsyncRunner } from '../agents/handlers/async-runner.ts';
import { isAsking } from '../agents/loops/loop-commands.ts';
import { type LoopRunner, loopJournal } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import { reasonOf } from '../contract/server-error.ts';
import type { KeptTask } from '../stores/task-store.ts';

interface RecoveryOptions extends RunnerOptions {
  readonly directory: AgentDirectory;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
}

const pageLength = 100;

/** Takes up what was left by processes that are gone. */
export class Recovery {
  readonly #options: RecoveryOptions;
  /** Where nothing was to be done, up to which offset: an approval is waited for, the agent is not here. */
  readonly #quiet = new Map<SessionId, number>();
  /** Where the last look ended. */
  #after: SessionId | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** All there are. */
  async takeAll(): Promise<void> {
    do await this.takeSome();
    while (this.#after !== undefined);
  }

  /** So many of those that nobody drives; the next look goes on behind them. */
  async takeSome(): Promise<void> {
    const { log, onDiagnostic } = this.#options;
    const after = this.#after;
    const page = await log.list({ isWaiting: true, limit: pageLength, after });
    this.#after = page.length < pageLength ? undefined : page.at(-1)?.session;
    for (const info of page)
      await this.#take(info).catch((error: unknown) =>
        onDiagnostic(`Task ${info.session}: cannot be taken up: ${reasonOf(error)}`),
      );
    if (this.#after === undefined && after === undefined) this.#forgetAllBut(page);
  }

  async #take({ session, through }: SessionInfo): Promise<void> {
    if (this.#quiet.get(session) === through) return;
    const { tasks, directory } = this.#options;
    const kept = await tasks.find({ id: session });
    const agent = kept && (await directory.find(kept.agentId))?.agent;
    // Where it is no task, or one of an agent that does not run any more, there is nothing to be done.
    const isTaken = kept !== undefined && agent !== undefined && (await this.#resume(kept, agent));
    if (isTaken) this.#quiet.delete(session);
    else this.#quiet.set(session, through);
  }

  async #resume({ task }: KeptTask, agent: FoundAgent['agent']): Promise<boolean> {
    const { journals, async, loops } = this.#options;
    const isLoop = agent.type === 'loop';
    return journals.use(
      task.id,
      async (journal) => {
        const { isRunOpen, isTurnOpen, commands, asked } = await journal.openWork();
        const isRunning = task.status === 'RUNNING';
        if (isLoop) {
          // Also where the row says that it was stopped: what is left on the log, somebody said since.
          const isStopped = task.status === 'INTERRUPTED' && (isRunOpen || asked.some(isAsking));
          const isLeft = isStopped || (isRunning && (isRunOpen || asked.length > 0));
          if (isLeft) await loops.takeUp(task.id, agent.agent);
          return isLeft;
        }
        const isCut = isRunOpen || isTurnOpen;
        // Whoever takes the lease ends what was left open.
        if (isCut) await journal.append([]);
        const isAsked = agent.type === 'async' && isRunning && commands.length > 0;
        if (isAsked) async.wake(task.id);
        return isCut || isAsked;
      },
      isLoop ? loopJournal : {},
    );
  }

  /** What is not listed any more is not remembered. */
  #forgetAllBut(page: readonly SessionInfo[]): void {
    const listed = new Set(page.map(({ session }) => session));
    for (const session of this.#quiet.keys()) if (!listed.has(session)) this.#quiet.delete(session);
  }
}

interface WatchOptions extends RunnerOptions {
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
