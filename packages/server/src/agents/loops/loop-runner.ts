import {
  type Observer,
  openTelemetryObserver,
  type Run,
  type RunResult,
  type SpanExporter,
} from '@millrace/agent';
import { type JsonObject, sessionId } from '@millrace/core';
import type { Content } from '../../contract/content.ts';
import type { Command } from '../../contract/request-bodies.ts';
import { RowsError } from '../../contract/rows.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import { errorReason, ServerError } from '../../contract/server-error.ts';
import type {
  Answer,
  MessageExtras,
  RequestMetadata,
  SubmitResult,
} from '../../contract/service.ts';
import type { TaskStatus } from '../../contract/task.ts';
import { traceJson } from '../../journal/journal-state.ts';
import type { LocalJournal, OpenWork } from '../../journal/local-journal.ts';
import {
  applyRunResult,
  assertUsable,
  hasWrongAgents,
  isDrivenElsewhere,
  resumeIfInterrupted,
  statusAfterCommand,
} from '../../stores/task-status.ts';
import type { StoredTask } from '../../stores/task-store.ts';
import { PastStates } from '../../stream/past-states.ts';
import { raceTimeout } from '../abort-race.ts';
import {
  AnswerWaiters,
  answerFromLog,
  answerLost,
  answerNotStarted,
  answerNotStored,
  messageWithdrawn,
} from '../answers.ts';
import { runLogObserver } from '../run-log.ts';
import type { RunnerOptions } from '../runner-options.ts';
import {
  consumesMessage,
  currentState,
  expectsAnswer,
  isAbort,
  loopJournalOptions,
  messageKey,
  silentCommandTypes,
  toLoopCommand,
} from './loop-commands.ts';

interface ActiveRun {
  readonly detach: AbortController;
  readonly done: Promise<void>;
}

interface TrackOptions {
  readonly detach: AbortController;
  /** True if this run has set the task's status to RUNNING. False if the run only stops open work. */
  readonly isRunning: boolean;
}

interface SubmitOptions {
  /** The key of the command on the log. */
  readonly key: string;
  /** More fields for the stored command. */
  readonly more?: JsonObject | undefined;
  /** Called with the offset of the command as soon as the command is stored. */
  readonly onStored?: ((offset: number) => void) | undefined;
  /** The files and the metadata of the message. */
  readonly extras?: MessageExtras | undefined;
}

/**
 * The delay before a run is retried, in milliseconds. A run is retried if a different process held the lease,
 * or if the log failed.
 */
const retryDelayMs = 500;

/** Runs agent loops. A loop drives its session itself. The server only queues commands on the log. */
export class LoopRunner {
  readonly #options: RunnerOptions;
  readonly #active = new Map<string, ActiveRun>();
  /** The tasks whose runs will be retried soon. */
  readonly #retrying = new Set<string>();
  readonly #waiters = new AnswerWaiters();
  readonly #servedName: (agent: LoopAgent['agent']) => string;
  readonly #observers = new WeakMap<LoopAgent['agent'], Observer>();

  /** Creates a runner. `servedName` returns the name under which an agent is served. */
  constructor(options: RunnerOptions, servedName = ({ name }: LoopAgent['agent']): string => name) {
    this.#options = options;
    this.#servedName = servedName;
  }

  /** Queues a message and returns its answer. The answer is a new run, or a later turn of the current run. */
  async answer(
    stored: StoredTask,
    agent: LoopAgent,
    content: Content,
    { key: clientKey, trace, extras }: RequestMetadata = {},
  ): Promise<Answer> {
    const { log, ids } = this.#options;
    const taskId = stored.task.id;
    const key = clientKey === undefined ? `server:${ids.execution()}` : messageKey(clientKey);
    const before = await currentState(log, taskId);
    const waiter = this.#waiters.add(taskId, key);
    const onStored = (offset: number) => {
      waiter.offset = offset;
    };
    const message = { type: 'message', content } as const;
    const submitted = this.submit(stored, agent, message, {
      key,
      more: traceJson(trace),
      onStored,
      extras,
    });
    const { is_repeat } = await submitted.catch((error: unknown) => {
      this.#waiters.forget(taskId, waiter);
      throw error;
    });
    const lost = waiter.lost.signal;
    if (!is_repeat)
      return answerFromLog({ log, taskId, before, lost, isStart: consumesMessage(taskId, key) });
    // A concurrent request with the same key stored the message first. A run may have taken the message from
    // the queue before `before` was read. The search for the answer therefore starts at the stored message.
    this.#waiters.forget(taskId, waiter);
    const answer = await this.#answerTo(taskId, agent, key);
    if (answer === undefined) throw messageWithdrawn(taskId);
    return answer;
  }

  /**
   * Returns the answer to the message that was sent with this key. Returns undefined if no message has this
   * key.
   */
  findByKey(
    { task }: StoredTask,
    agent: LoopAgent,
    clientKey: string,
  ): Promise<Answer | undefined> {
    return this.#answerTo(task.id, agent, messageKey(clientKey));
  }

  /** Returns the answer to a stored message. Returns undefined if the log has no message with this key. */
  async #answerTo(taskId: string, { agent }: LoopAgent, key: string): Promise<Answer | undefined> {
    const { log, tasks } = this.#options;
    const session = sessionId(taskId);
    const [queued, info] = [await log.findCommand(session, key), await log.info(session)];
    if (queued === undefined || info === undefined) return undefined;
    const { incarnation } = info;
    // The answer needs no items of earlier runs, so the log is not read from its start.
    const before = await new PastStates({ log, session, incarnation }).before(queued.offset);
    const waiter = this.#waiters.add(taskId, key, queued.offset);
    const source = {
      log,
      taskId,
      before,
      lost: waiter.lost.signal,
      isStart: consumesMessage(taskId, key),
    };
    const { isRunOpen, commands } = await this.#openWork(taskId);
    const isUnread = commands.some((command) => command.key === key);
    if (!isUnread && !isRunOpen) {
      this.#waiters.forget(taskId, waiter);
      return answerFromLog({ ...source, through: (await log.info(session))?.through ?? 0 });
    }
    if (isUnread)
      await tasks.setStatus(taskId, (now) => statusAfterCommand(taskId, now, false), null);
    // Starts the loop unless it is running. The loop ends a run that a crashed process left without an end,
    // and it answers queued messages.
    this.wake(taskId, agent);
    return answerFromLog(source);
  }

  async submit(
    { task }: StoredTask,
    { agent }: LoopAgent,
    command: Command,
    { key, more, extras, onStored }: SubmitOptions,
  ): Promise<SubmitResult> {
    const { log, tasks, queues, ids, files } = this.#options;
    queues.assertOpen();
    assertUsable(task.id, task.status ?? 'RUNNING');
    const content = 'content' in command ? command.content : undefined;
    const uploaded = await files.partsOf(task.id, content);
    const all = { ...extras, files: [...(extras?.files ?? []), ...uploaded] };
    const isSilent = silentCommandTypes.has(command.type);
    const json = { ...toLoopCommand(command, () => ids.item(), all), ...more };
    const { offset, isRepeat } = await log.submit(sessionId(task.id), json, key);
    onStored?.(offset);
    // The agent has already read this command. A repeated submission has no effect.
    if (isRepeat && !(await this.#isUnread(task.id, key))) return { offset, is_repeat: true };
    // The command must be submitted before the status is set. A run that ends in a different process works in
    // the reverse order: it sets its status and then reads the log. Therefore either that run finds the
    // command, or this code sees that the run has ended.
    const next = (now: TaskStatus) => statusAfterCommand(task.id, now, isSilent);
    const setStatus = () =>
      isSilent ? tasks.setStatus(task.id, next, null) : tasks.acceptInput(task.id, next);
    const { status } = await setStatus().catch((error: unknown) => {
      throw halfStored(task.id, offset, error);
    });
    if (command.type === 'abort') await this.#endWork(task.id, agent, command.reason);
    else if (!isSilent || status === 'RUNNING') this.wake(task.id, agent);
    return { offset, is_repeat: isRepeat };
  }

  /**
   * Ends the work of a session whose log has a new abort. If another process drives the session, that process
   * reads the abort, and this process must not start a run for it. Such a run would start after the work has
   * ended, and would stop the next message.
   */
  async #endWork(
    taskId: string,
    agent: LoopAgent['agent'],
    reason: string | null | undefined,
  ): Promise<void> {
    if (this.#active.has(taskId)) return;
    // The other process may die before it reads the abort.
    if (await this.#isLeasedElsewhere(taskId)) return this.#retryLater(taskId, agent);
    await this.#wakeToStop(taskId, agent, reason);
  }

  /** Starts a run that only ends the open work of a session. Without open work there is nothing to end. */
  async #wakeToStop(
    taskId: string,
    agent: LoopAgent['agent'],
    reason: string | null | undefined,
  ): Promise<void> {
    const { isRunOpen, isTurnOpen, runnable } = await this.#openWork(taskId);
    if (isRunOpen || isTurnOpen || runnable.some(isAbort))
      this.wake(taskId, agent, AbortSignal.abort(reason));
  }

  /** Starts or continues the run of a session, unless the run is already active in this process. */
  wake(taskId: string, agent: LoopAgent['agent'], stopped?: AbortSignal): void {
    if (this.#active.has(taskId) || this.#options.queues.isClosing) return;
    const detach = new AbortController();
    const observers = this.observersOf(taskId, agent);
    const runOptions = { signal: stopped, leave: detach.signal, observers };
    const run = agent.resume(sessionId(taskId), runOptions);
    this.track(taskId, agent, run, { detach, isRunning: stopped === undefined });
  }

  /**
   * Resumes a session whose run was orphaned or interrupted. The status `INTERRUPTED` becomes `RUNNING`.
   */
  async resume(taskId: string, agent: LoopAgent['agent']): Promise<void> {
    await this.#options.tasks.setStatus(taskId, resumeIfInterrupted, null);
    this.wake(taskId, agent);
  }

  /** Returns the observers of a run. They export the run as spans and log its failures. */
  observersOf(taskId: string, agent: LoopAgent['agent']): readonly Observer[] {
    const { exporter, logEvent } = this.#options;
    const name = this.#servedName(agent);
    const logged = logEvent === undefined ? [] : [runLogObserver(logEvent, taskId, name)];
    if (exporter === undefined) return logged;
    const observer = this.#observers.get(agent) ?? observerOf(exporter, name);
    this.#observers.set(agent, observer);
    return [observer, ...logged];
  }

  /** Follows a run to its end, even if other code has started the run. */
  track(
    taskId: string,
    agent: LoopAgent['agent'],
    run: Run,
    { detach, isRunning }: TrackOptions,
  ): void {
    const done = this.#follow(taskId, agent, run, isRunning).catch((error: unknown) => {
      this.#active.delete(taskId);
      const why = errorReason(error);
      this.#waiters.rejectAll(taskId, answerLost(taskId, why));
      this.#options.onDiagnostic(`Task ${taskId}: the run failed: ${why}`);
    });
    this.#active.set(taskId, { detach, done });
  }

  /**
   * Stops the run of a task. A run that waits for an approval is resumed first, because only an active run
   * can write its end.
   */
  async stop(taskId: string, { agent }: LoopAgent, reason: string): Promise<void> {
    const { log, clock, graceMs, ids } = this.#options;
    if (await this.#isDriven(taskId))
      await log.submit(sessionId(taskId), { type: 'abort', reason }, `server:${ids.execution()}`);
    // The run may have ended while the abort was being stored. In this case no run has read the abort.
    if (!(await this.#isDriven(taskId))) await this.#wakeToStop(taskId, agent, reason);
    await raceTimeout(this.#untilIdle(taskId), clock, 2 * graceMs);
  }

  /**
   * Resolves when no run of the task is active. If a run ends before it reads the abort command, the next run
   * handles the command.
   */
  async #untilIdle(taskId: string): Promise<void> {
    let last: ActiveRun | undefined;
    for (;;) {
      const active = this.#active.get(taskId);
      if (active === undefined || active === last) return;
      await active.done;
      last = active;
    }
  }

  /** Detaches from the run of a task without ending it. Resolves when the run has released its lease. */
  async release(taskId: string): Promise<void> {
    const active = this.#active.get(taskId);
    if (active === undefined) return;
    active.detach.abort();
    await active.done;
  }

  /** Removes the queued commands of a closed task. */
  async clear(taskId: string): Promise<void> {
    const { journals } = this.#options;
    await journals.use(
      taskId,
      async (journal) => {
        for (const { key } of await journal.commands()) await journal.consume(key);
      },
      loopJournalOptions,
    );
    this.#waiters.rejectAll(taskId, messageWithdrawn(taskId));
  }

  /** Detaches from all runs without ending them. The server continues these runs after its next start. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const active = [...this.#active.values()];
    for (const { detach } of active) detach.abort();
    await raceTimeout(Promise.all(active.map(({ done }) => done)), clock, 2 * graceMs);
    this.#waiters.close((taskId) => answerLost(taskId, 'the server stopped'));
  }

  async #follow(
    taskId: string,
    agent: LoopAgent['agent'],
    run: Run,
    isRunning: boolean,
  ): Promise<void> {
    const claimed = this.#claim(taskId, run, isRunning);
    const result = await run.result;
    const epoch = await claimed;
    if (result.stop.cause === 'left') {
      this.#active.delete(taskId);
      return;
    }
    this.#options.storage.report(result.cause);
    await applyRunResult(this.#options.tasks, taskId, result, epoch).catch((error: unknown) => {
      // The error is only reported, because the log contains the outcome of the run. The task keeps its
      // status until the next run or request changes it. The regular scan resumes unfinished work.
      this.#options.storage.report(error);
      this.#options.onDiagnostic(`Task ${taskId}: cannot store its status: ${errorReason(error)}`);
    });
    // From here on, a new command starts the loop. The code below looks for commands that came earlier.
    this.#active.delete(taskId);
    const work = await this.#openWork(taskId);
    await this.#rejectLostAnswers(taskId, work, result);
    const { reason } = result.stop;
    // An open turn cannot continue with wrong agents, so its commands wait for the next message or server.
    // The same is true for a log that this version does not support.
    const isUnsupported = result.stop.cause === 'not_understood';
    const isStuck = isUnsupported || (work.isTurnOpen && hasWrongAgents(result));
    if (work.runnable.length > 0 && !isStuck) {
      if (reason === 'error') return this.#retryLater(taskId, agent);
      return this.#resumeFor(taskId, agent, work.runnable);
    }
    // The process that holds the lease writes the answer. The waiters read this answer from the log.
    if (isDrivenElsewhere(result)) return;
    const unread = new Set(work.commands.map(({ key }) => key));
    this.#waiters.settle(taskId, work.through, (key) =>
      unread.has(key) ? answerNotStarted(taskId, result) : undefined,
    );
  }

  /**
   * Claims the task's row as soon as the run has the lease, and returns the epoch of the run. An older run,
   * for example of a server that was suspended, can then no longer change the task.
   */
  async #claim(taskId: string, run: Run, isRunning: boolean): Promise<number | undefined> {
    const { tasks, onDiagnostic } = this.#options;
    const epoch = await run.epoch;
    if (epoch === undefined) return undefined;
    await tasks
      .claim(taskId, epoch, { isRunning })
      .catch((error: unknown) =>
        onDiagnostic(`Task ${taskId}: cannot claim its row: ${errorReason(error)}`),
      );
    return epoch;
  }

  /** Rejects the requests that wait for a run that could not write its end to the log. */
  async #rejectLostAnswers(
    taskId: string,
    { through, isRunOpen, commands }: OpenWork,
    { stop, error }: RunResult,
  ): Promise<void> {
    // If a different process holds the lease, that process ends the open run.
    if (!isRunOpen || isDrivenElsewhere({ stop }) || (await this.#isLeasedElsewhere(taskId)))
      return;
    const unread = new Set(commands.map(({ key }) => key));
    const why = error?.message ?? stop.reason;
    const lost = () =>
      stop.cause === 'storage_full' ? answerNotStored(taskId, why) : answerLost(taskId, why);
    this.#waiters.reject(taskId, through, (key) => (unread.has(key) ? undefined : lost()));
  }

  /** Starts a new run for commands that arrived while the previous run was ending. */
  async #resumeFor(
    taskId: string,
    agent: LoopAgent['agent'],
    runnable: OpenWork['runnable'],
  ): Promise<void> {
    const { tasks } = this.#options;
    if (runnable.some(expectsAnswer)) return this.resume(taskId, agent);
    if (runnable.some(isAbort)) return this.#endWork(taskId, agent, undefined);
    if ((await tasks.find({ id: taskId }))?.task.status === 'RUNNING') this.wake(taskId, agent);
  }

  /** Returns whether a run of the task is active, in this process or in a different one. */
  async #isDriven(taskId: string): Promise<boolean> {
    return this.#active.has(taskId) || (await this.#isLeasedElsewhere(taskId));
  }

  async #isLeasedElsewhere(taskId: string): Promise<boolean> {
    return (await this.#options.log.info(sessionId(taskId)))?.lease !== undefined;
  }

  /** Resumes the run after a delay. Without the delay, the run could fail again for the same reason. */
  #retryLater(taskId: string, agent: LoopAgent['agent']): void {
    if (this.#retrying.has(taskId)) return;
    this.#retrying.add(taskId);
    const { clock, queues, onDiagnostic } = this.#options;
    const retry = async () => {
      this.#retrying.delete(taskId);
      if (queues.isClosing) return;
      // The process that held the lease may have written the answer during the delay.
      const { runnable } = await this.#openWork(taskId);
      if (runnable.length > 0) await this.#resumeFor(taskId, agent, runnable);
    };
    const report = (error: unknown) =>
      onDiagnostic(`Task ${taskId}: cannot resume the run: ${errorReason(error)}`);
    clock.after(retryDelayMs, () => void retry().catch(report), { isIdle: true });
  }

  async #isUnread(taskId: string, key: string): Promise<boolean> {
    const { commands } = await this.#openWork(taskId);
    return commands.some((command) => command.key === key);
  }

  #openWork(taskId: string): Promise<OpenWork> {
    const { journals } = this.#options;
    const read = (journal: LocalJournal) => journal.openWork();
    return journals.use(taskId, read, loopJournalOptions);
  }
}

/** Returns the error for a command that is on the log although the task's row could not be written. */
function halfStored(task: string, offset: number, error: unknown): unknown {
  if (!(error instanceof RowsError) || error.code !== 'storage_full') return error;
  const message = `Cannot store the status of task ${task}: the storage of the server is full. The command is stored at offset ${offset}, and is handled when the operator has made room. A repeat with the same key has no further effect`;
  const details = { stored: 'command', offset };
  return new ServerError('storage_full', message, { task }, { cause: error, details });
}

function observerOf({ tracer, ids }: SpanExporter, agentName: string): Observer {
  return openTelemetryObserver({ tracer, ids, agentName }).observe;
}
