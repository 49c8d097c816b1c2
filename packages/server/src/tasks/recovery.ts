import type { SessionId } from '@millrace/core';
import type { SessionInfo } from '@millrace/log';
import type { AgentDirectory, ResolvedAgent } from '../agents/agent-directory.ts';
import type { AsyncRunner } from '../agents/handlers/async-runner.ts';
import { expectsAnswer, isAbort, loopJournalOptions } from '../agents/loops/loop-commands.ts';
import type { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import { errorReason } from '../contract/server-error.ts';
import { unknownCommand } from '../journal/journal-errors.ts';
import type { StoredTask } from '../stores/task-store.ts';

interface RecoveryOptions extends RunnerOptions {
  readonly directory: AgentDirectory;
  readonly async: AsyncRunner;
  readonly loops: LoopRunner;
}

const pageLength = 100;

/** Resumes unfinished work of processes that crashed or closed. */
export class Recovery {
  readonly #options: RecoveryOptions;
  /**
   * Maps each skipped session to its last offset. A session is skipped if it waits for an approval, or if its
   * agent does not run in this process.
   */
  readonly #skipped = new Map<SessionId, number>();
  /** The sessions that this scan has listed, over all pages. */
  readonly #listed = new Set<SessionId>();
  /** The last session of the previous page. */
  #after: SessionId | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Recovers all orphaned sessions. */
  async recoverAll(): Promise<void> {
    do await this.recoverPage();
    while (this.#after !== undefined);
  }

  /** Recovers one page of sessions that no process drives. The next call continues with the next page. */
  async recoverPage(): Promise<void> {
    const { log, onDiagnostic } = this.#options;
    const page = await log.list({ isWaiting: true, limit: pageLength, after: this.#after });
    this.#after = page.length < pageLength ? undefined : page.at(-1)?.session;
    for (const info of page)
      await this.#recover(info).catch((error: unknown) =>
        onDiagnostic(`Task ${info.session}: cannot be recovered: ${errorReason(error)}`),
      );
    for (const { session } of page) this.#listed.add(session);
    if (this.#after === undefined) this.#forgetUnlisted();
  }

  /** Checks a session again in the next scan, because it has a task now. */
  reconsider(session: SessionId): void {
    this.#skipped.delete(session);
  }

  async #recover({ session, through }: SessionInfo): Promise<void> {
    if (this.#skipped.get(session) === through) return;
    const { tasks, directory } = this.#options;
    const stored = await tasks.find({ id: session });
    const agent = stored && (await directory.find(stored.agentId))?.agent;
    // The result of `recovers` can change at any time, so the next scan checks this session again.
    if (agent?.type === 'loop' && agent.recovers?.(session) === false) return;
    // A session needs no recovery if it has no task, or if its agent does not run in this process.
    const isRecovered =
      stored !== undefined && agent !== undefined && (await this.#resume(stored, agent));
    if (isRecovered) this.#skipped.delete(session);
    else this.#skipped.set(session, through);
  }

  async #resume(
    { task, isStatusOfRun }: StoredTask,
    agent: ResolvedAgent['agent'],
  ): Promise<boolean> {
    const { journals, async, loops, onDiagnostic } = this.#options;
    const isLoop = agent.type === 'loop';
    return journals.use(
      task.id,
      async (journal) => {
        const { isRunOpen, isTurnOpen, commands, runnable } = await journal.openWork();
        const isRunning = task.status === 'RUNNING';
        if (isLoop) {
          // Interrupted tasks are resumed too. Their remaining commands were sent after the interrupt.
          const hasMessages = runnable.some(expectsAnswer);
          const isStopped = task.status === 'INTERRUPTED' && (isRunOpen || hasMessages);
          // If the row has the status FAILED, but the log has no end of the run, a write to the log failed. The
          // server of the run tries again if messages wait, but this server may have stopped.
          const isLeft = task.status === 'FAILED' && isStatusOfRun && (isRunOpen || hasMessages);
          const isActive = isRunning && (isRunOpen || runnable.length > 0);
          const isOrphaned = isStopped || isLeft || isActive;
          if (isOrphaned) await loops.resume(task.id, agent.agent);
          // The server that stored the abort crashed before it could end the run, which waits for an
          // approval.
          const isAborted = task.status === 'INTERRUPTED' && runnable.some(isAbort);
          if (isAborted && !isOrphaned) loops.wake(task.id, agent.agent, AbortSignal.abort());
          return isOrphaned || isAborted;
        }
        const isUnfinished = isRunOpen || isTurnOpen;
        // The empty append acquires the lease and ends unfinished work of a crashed process.
        if (isUnfinished) await journal.append([]);
        const hasEvents = agent.type === 'async' && isRunning && commands.length > 0;
        if (hasEvents) async.wake(task.id);
        // A sync agent never reads commands, so they are removed. Otherwise they would stay in the queue
        // forever.
        const foreign = agent.type === 'sync' ? commands : [];
        for (const command of foreign) {
          const error = unknownCommand(command);
          onDiagnostic(`Task ${task.id}: ${error.message}`);
          await journal.consume(command.key, error);
        }
        return isUnfinished || hasEvents || foreign.length > 0;
      },
      isLoop ? loopJournalOptions : {},
    );
  }

  /** Removes sessions from `#skipped` that are no longer listed. */
  #forgetUnlisted(): void {
    for (const session of this.#skipped.keys())
      if (!this.#listed.has(session)) this.#skipped.delete(session);
    this.#listed.clear();
  }
}

interface TaskScannerOptions extends RunnerOptions {
  readonly recovery: Recovery;
  readonly everyMs: number;
  /** Returns a random number from 0 up to 1. It spreads the scans of several servers over time. */
  readonly random: () => number;
}

/**
 * Scans regularly for changes by different processes with the same store. It recovers orphaned tasks. It also
 * stops work in this process if a different process has stopped the task.
 */
export class TaskScanner {
  readonly #options: TaskScannerOptions;
  #cancel: () => void = () => {};
  #isStopped = false;
  #scanning: Promise<void> = Promise.resolve();

  constructor(options: TaskScannerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStopped) return;
    const { clock, everyMs, random } = this.#options;
    const scan = () => {
      this.#scanning = this.scan().then(() => this.start());
    };
    this.#cancel = clock.after(everyMs * (0.75 + random() / 2), scan, { isIdle: true });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#scanning;
  }

  /** Scans once. Errors are reported as diagnostics. */
  async scan(): Promise<void> {
    const { recovery, onDiagnostic } = this.#options;
    try {
      await this.#stopTasksStoppedElsewhere();
      await recovery.recoverPage();
    } catch (error) {
      onDiagnostic(`Cannot scan for orphaned tasks: ${errorReason(error)}`);
    }
  }

  async #stopTasksStoppedElsewhere(): Promise<void> {
    const { queues, tasks } = this.#options;
    for (const taskId of queues.activeTasks) {
      const status = (await tasks.find({ id: taskId }))?.task.status ?? 'DELETED';
      if (status === 'RUNNING') continue;
      const kind = status === 'INTERRUPTED' ? 'interrupt' : 'close_task';
      // The scan does not wait for the end of the work.
      queues.stop(taskId, kind, `The task is ${status}`).catch(() => {});
    }
  }
}
