import {
  type FoldState,
  isMillraceError,
  type RunId,
  sessionId,
  type TraceContext,
} from '@millrace/core';
import type { Content } from '../../contract/content.ts';
import type { SyncAgent } from '../../contract/served-agent.ts';
import { errorReason } from '../../contract/server-error.ts';
import type { Answer, MessageExtras } from '../../contract/service.ts';
import type { AgentInfo } from '../../contract/task.ts';
import type { LocalJournal } from '../../journal/local-journal.ts';
import { abandonTurn, closeTurn } from '../../journal/turn-closing.ts';
import { messageDrafts, withMetadata } from '../../messages/message-drafts.ts';
import { assertUsable, failedIfRunning } from '../../stores/task-status.ts';
import type { UpdateWarnings } from '../../updates/update-warnings.ts';
import { answerFromLog } from '../answers.ts';
import { type LoggedRun, reportHandlerFailure } from '../run-log.ts';
import type { RunnerOptions } from '../runner-options.ts';
import { stopKindOf } from '../task-queues.ts';
import { createContext } from './handler-context.ts';
import { findKeyedRun, keyDrafts } from './keyed-messages.ts';
import { type AnswerOutcome, runSyncHandler } from './sync-answer.ts';
import { exportRun } from './tracing.ts';

interface SyncJob {
  readonly taskId: string;
  readonly info: AgentInfo;
  readonly agent: SyncAgent;
  readonly content: Content;
  /** The idempotency key of the request. A second request with the same key gets the existing answer. */
  readonly key?: string | undefined;
  /** The trace to which the answer belongs. */
  readonly trace?: TraceContext | undefined;
  /** The metadata for the item that stores the message. */
  readonly extras?: Pick<MessageExtras, 'metadata'> | undefined;
}

/** A task and the epoch of the run that writes its answer. */
interface ClaimedTask {
  readonly taskId: string;
  readonly epoch: number;
}

interface AnswerStart {
  readonly begin: (answer: Answer) => void;
  /** The runner aborts this controller if the answer can no longer be stored. */
  readonly lost: AbortController;
}

/**
 * The index of the first message that a handler opens with `stream.open`. The indexes of the updates that a
 * handler yields start at 0, so the two ranges do not overlap.
 */
const firstManualIndex = 1000;

/** Answers messages to sync agents. */
export class SyncRunner {
  readonly #options: RunnerOptions;
  /** The answers that are not on the log yet. The key consists of the task id and the idempotency key. */
  readonly #starting = new Map<string, Promise<Answer>>();
  /** The answers that are being written in this process. */
  readonly #running = new Map<RunId, AbortController>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /**
   * Returns the answer to the message that was sent with this key. Returns undefined if no message has this
   * key.
   */
  async findByKey(taskId: string, key: string): Promise<Answer | undefined> {
    const starting = this.#starting.get(`${taskId} ${key}`);
    if (starting !== undefined) return starting;
    const found = await findKeyedRun(this.#options.log, sessionId(taskId), key);
    return found && this.#answerOf(found.run, found.before);
  }

  /**
   * Resolves when the message is stored and its answer has started. The answer continues even if no
   * client reads it.
   */
  async answer(job: SyncJob): Promise<Answer> {
    const { taskId, key } = job;
    if (key === undefined) return this.#start(job);
    const name = `${taskId} ${key}`;
    const starting = this.#starting.get(name) ?? this.#start(job);
    this.#starting.set(name, starting);
    return starting.finally(() => this.#starting.delete(name));
  }

  #start(job: SyncJob): Promise<Answer> {
    const started = Promise.withResolvers<Answer>();
    const lost = new AbortController();
    const { queues, journals } = this.#options;
    const run = (signal: AbortSignal) =>
      journals.use(job.taskId, (journal) =>
        this.#run(job, journal, signal, { begin: started.resolve, lost }),
      );
    queues.run(job.taskId, run).catch((error: unknown) => {
      started.reject(error);
      lost.abort(error);
    });
    return started.promise;
  }

  /** Returns the answer of a run. If a different process executes the run, its end is read from the log. */
  #answerOf(run: RunId, before: FoldState): Answer {
    const lost = this.#running.get(run) ?? new AbortController();
    return answerFromLog({
      ...{ log: this.#options.log, taskId: before.session, before, run, lost: lost.signal },
      isStart: ({ fact }) => fact?.type === 'run_started' && fact.runId === run,
    });
  }

  async #run(
    { taskId, info, agent, content, key, trace, extras }: SyncJob,
    journal: LocalJournal,
    signal: AbortSignal,
    { begin, lost }: AnswerStart,
  ): Promise<void> {
    const { ids, clock, graceMs, tasks, storage, onDiagnostic } = this.#options;
    const plain = messageDrafts(content, ids);
    const metadata = extras?.metadata;
    const message =
      metadata === undefined ? plain : plain.map((draft) => withMetadata(draft, metadata));
    // A crashed process may have left a run without an end. The empty append ends that run first. Otherwise
    // readers would mistake this answer for a part of the crashed run.
    await journal.append([]);
    const before = await journal.recentState();
    const known =
      key === undefined ? undefined : await findKeyedRun(this.#options.log, sessionId(taskId), key);
    if (known !== undefined) return begin(this.#answerOf(known.run, known.before));
    const task = await tasks.acceptInput(taskId, (now) => runningIfUsable(taskId, now));
    const turn = await journal.beginTurn(
      (run) =>
        key === undefined
          ? message
          : [...keyDrafts(key, run), ...message.map((draft) => withMetadata(draft, { key, run }))],
      trace,
    );
    const startMs = clock.now();
    const { runId, epoch } = turn;
    await tasks.claim(taskId, epoch, { isRunning: true });
    this.#running.set(runId, lost);
    begin(this.#answerOf(runId, before));
    const services = this.#options;
    const firstIndex = firstManualIndex;
    const context = createContext({
      ...{ task, agent: info, journal, turn, signal, firstIndex, services },
    });
    try {
      const end = await runSyncHandler(agent, content, { turn, context, ids, clock, graceMs });
      await closeTurn(journal, turn, end.stop);
      await this.#settle({ taskId, epoch }, end, signal);
      await turn.finish(end.stop, end.error);
      exportRun(this.#options, { task, agent: info, turn, startMs, ...end });
      this.#logFailure({ task: taskId, agent: info.name, run: runId }, end);
      this.#warn(taskId, end.warnings);
    } catch (error) {
      storage.report(error);
      const reason = isFull(error)
        ? 'the storage of the server is full'
        : publicStorageReason(error);
      await this.#fail({ taskId, epoch }, `Cannot store the answer: ${reason}`).catch(
        (problem: unknown) =>
          onDiagnostic(`Task ${taskId}: cannot store its status: ${errorReason(problem)}`),
      );
      await abandonTurn(journal, turn);
      throw error;
    } finally {
      this.#running.delete(runId);
    }
  }

  /**
   * Sets the task's status after an answer failed or was aborted. A request that stops the task also writes a
   * status, but this answer may have replaced that status by RUNNING. So the status is corrected here.
   */
  async #settle(
    { taskId, epoch }: ClaimedTask,
    { error, stop }: AnswerOutcome,
    signal: AbortSignal,
  ): Promise<void> {
    if (error !== undefined) return this.#fail({ taskId, epoch }, error.message);
    if (stop.reason !== 'aborted') return;
    const { tasks } = this.#options;
    const whileOpen = (now: string) => (now === 'RUNNING' ? ('INTERRUPTED' as const) : undefined);
    const isClosing = stopKindOf(signal) === 'close_server';
    const reason = isClosing
      ? 'The server stopped. Send a message to continue'
      : 'Task interrupted';
    await tasks.setStatus(taskId, whileOpen, reason, epoch);
  }

  async #fail({ taskId, epoch }: ClaimedTask, reason: string): Promise<void> {
    await this.#options.tasks.setStatus(taskId, failedIfRunning, reason, epoch);
  }

  #logFailure(where: LoggedRun, { error, cause }: AnswerOutcome): void {
    if (error !== undefined)
      reportHandlerFailure(this.#options, { ...where, code: error.code, cause });
  }

  #warn(taskId: string, warnings: UpdateWarnings): void {
    const counted = Object.entries(warnings).filter(([, count]) => count > 0);
    if (counted.length === 0) return;
    const summary = counted.map(([name, count]) => `${count} ${name}`).join(', ');
    this.#options.onDiagnostic(`Task ${taskId}: the agent sent irregular updates: ${summary}`);
  }
}

/**
 * Returns whether the storage is full. The error message contains a file path, which clients must not see.
 */
function isFull(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'storage_full';
}

/** Returns why an answer was not stored. Errors of a database can contain its address. */
function publicStorageReason(error: unknown): string {
  return isMillraceError(error) ? errorReason(error) : 'the storage of the server failed';
}

function runningIfUsable(
  taskId: string,
  now: Parameters<typeof assertUsable>[1],
): 'RUNNING' | undefined {
  assertUsable(taskId, now);
  return now === 'RUNNING' ? undefined : 'RUNNING';
}
