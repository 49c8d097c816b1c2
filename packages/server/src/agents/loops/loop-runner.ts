import {
  type Observer,
  openTelemetryObserver,
  type Run,
  type RunResult,
  type SpanExporter,
} from '@millrace/agent';
import {
  emptyState,
  type FoldState,
  type JsonObject,
  type LogRecord,
  sessionId,
} from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import type { Content } from '../../contract/content.ts';
import type { Command } from '../../contract/request-bodies.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import { errorReason } from '../../contract/server-error.ts';
import type { Answer, RequestMetadata, SubmitResult } from '../../contract/service.ts';
import { traceJson } from '../../journal/journal-state.ts';
import type { LocalJournal, OpenWork } from '../../journal/local-journal.ts';
import {
  applyRunResult,
  assertUsable,
  resumeIfInterrupted,
  statusAfterCommand,
} from '../../stores/task-status.ts';
import type { StoredTask } from '../../stores/task-store.ts';
import { raceTimeout } from '../abort-race.ts';
import {
  AnswerWaiters,
  answerFromLog,
  answerLost,
  answerNotStarted,
  messageWithdrawn,
} from '../answers.ts';
import type { RunnerOptions } from '../runner-options.ts';
import {
  expectsAnswer,
  findQueuedCommand,
  silentCommandTypes,
  toLoopCommand,
} from './loop-commands.ts';

interface ActiveRun {
  readonly detach: AbortController;
  readonly done: Promise<void>;
}

/** So soon a run is tried again that found its session held, or its log broken. */
const retryDelayMs = 500;

/** A loop ends what was left open by itself, and must not find the server in its way. */
export const loopJournalOptions = { repairsOnOpen: false, idleMs: 0 } as const;

/** Serves agent loops, which drive their sessions themselves: what is said to them are commands on the log. */
export class LoopRunner {
  readonly #options: RunnerOptions;
  readonly #active = new Map<string, ActiveRun>();
  /** Those that are tried again in a moment. */
  readonly #retrying = new Set<string>();
  readonly #waiters = new AnswerWaiters();
  readonly #servedName: (agent: LoopAgent['agent']) => string;
  readonly #observers = new WeakMap<LoopAgent['agent'], Observer>();

  /** `nameOf`: what an agent is served as. */
  constructor(options: RunnerOptions, messageKey = ({ name }: LoopAgent['agent']): string => name) {
    this.#options = options;
    this.#servedName = messageKey;
  }

  /** A run, or what follows the one that goes on. */
  async answer(
    stored: StoredTask,
    agent: LoopAgent,
    content: Content,
    { key: clientKey, trace }: RequestMetadata = {},
  ): Promise<Answer> {
    const { log, ids } = this.#options;
    const taskId = stored.task.id;
    const key = clientKey === undefined ? `server:${ids.execution()}` : messageKey(clientKey);
    const before = await stateOf(log, taskId);
    const waiter = this.#waiters.add(taskId, key);
    try {
      await this.submit(stored, agent, { type: 'message', content }, key, traceJson(trace));
    } catch (error) {
      this.#waiters.forget(taskId, waiter);
      throw error;
    }
    const lost = waiter.lost.signal;
    return answerFromLog({ log, taskId, before, lost, isStart: consumesMessage(taskId, key) });
  }

  /** What was sent with the key before has this answer. */
  async findByKey(
    stored: StoredTask,
    { agent }: LoopAgent,
    clientKey: string,
  ): Promise<Answer | undefined> {
    const { log, tasks } = this.#options;
    const taskId = stored.task.id;
    const session = sessionId(taskId);
    const key = messageKey(clientKey);
    const queuedAt = await findQueuedCommand(log, taskId, key);
    if (queuedAt === undefined) return undefined;
    const before = await snapshot(log, session, { through: queuedAt });
    const waiter = this.#waiters.add(taskId, key);
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
    // Unless it goes on, here or elsewhere: what a dead run left open is ended, what waits is answered.
    this.wake(taskId, agent);
    return answerFromLog(source);
  }

  async submit(
    { task }: StoredTask,
    { agent }: LoopAgent,
    command: Command,
    key: string,
    more: JsonObject = {},
  ): Promise<SubmitResult> {
    const { log, tasks, queues, ids } = this.#options;
    queues.assertOpen();
    assertUsable(task.id, task.status ?? 'RUNNING');
    const isSilent = silentCommandTypes.has(command.type);
    const json = { ...toLoopCommand(command, ids.item()), ...more };
    const { offset, isRepeat } = await log.submit(sessionId(task.id), json, key);
    // Only now: whoever ends a run elsewhere says that it was stopped, and then looks at the log.
    const { status } = await tasks.setStatus(
      task.id,
      (now) => statusAfterCommand(task.id, now, isSilent),
      null,
    );
    // Where nothing goes on there is nothing to stop, and nothing is begun by that either.
    if (command.type === 'abort') this.wake(task.id, agent, AbortSignal.abort(command.reason));
    else if (!isSilent || status === 'RUNNING') this.wake(task.id, agent);
    return { offset, is_repeat: isRepeat };
  }

  /** Goes on with a session, unless it does. */
  wake(taskId: string, agent: LoopAgent['agent'], stopped?: AbortSignal): void {
    if (this.#active.has(taskId) || this.#options.queues.isClosing) return;
    const detach = new AbortController();
    const observers = this.observersOf(agent);
    const own = { signal: stopped, leave: detach.signal, observers };
    this.track(taskId, agent, agent.resume(sessionId(taskId), own), detach);
  }

  /** Goes on with what somebody left, whatever he said of it before. */
  async resume(taskId: string, agent: LoopAgent['agent']): Promise<void> {
    await this.#options.tasks.setStatus(taskId, resumeIfInterrupted, null);
    this.wake(taskId, agent);
  }

  /** What hears of a run for whoever collects spans. */
  observersOf(agent: LoopAgent['agent']): readonly Observer[] {
    const { exporter } = this.#options;
    if (exporter === undefined) return [];
    const findByKey = this.#observers.get(agent) ?? observerOf(exporter, this.#servedName(agent));
    this.#observers.set(agent, findByKey);
    return [findByKey];
  }

  /** Looks after a run, whoever began it. */
  track(taskId: string, agent: LoopAgent['agent'], run: Run, detach: AbortController): void {
    const done = this.#follow(taskId, agent, run).catch((error: unknown) => {
      this.#active.delete(taskId);
      const why = errorReason(error);
      this.#waiters.end(taskId, () => answerLost(taskId, why));
      this.#options.onDiagnostic(`Task ${taskId}: its run is lost: ${why}`);
    });
    this.#active.set(taskId, { detach, done });
  }

  /** Stops the run. One that waits for somebody is taken up for that, so that nothing of it is left open. */
  async stop(taskId: string, { agent }: LoopAgent, reason: string): Promise<void> {
    const { log, clock, graceMs, ids } = this.#options;
    const session = sessionId(taskId);
    if (this.#active.has(taskId) || (await this.#isLeasedElsewhere(taskId))) {
      await log.submit(session, { type: 'abort', reason }, `server:${ids.execution()}`);
    } else {
      const { isRunOpen, isTurnOpen } = await this.#openWork(taskId);
      if (!isRunOpen && !isTurnOpen) return;
      this.wake(taskId, agent, AbortSignal.abort(reason));
    }
    await raceTimeout(this.#active.get(taskId)?.done ?? Promise.resolve(), clock, 2 * graceMs);
  }

  /** What waits in a queue that nobody will look at again. */
  async clear(taskId: string): Promise<void> {
    const { journals } = this.#options;
    await journals.use(
      taskId,
      async (journal) => {
        for (const { key } of await journal.commands()) await journal.consume(key);
      },
      loopJournalOptions,
    );
    this.#waiters.end(taskId, () => messageWithdrawn(taskId));
  }

  /** Runs are left as they are: the next server, or another one, goes on with them. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const active = [...this.#active.values()];
    for (const { detach } of active) detach.abort();
    await raceTimeout(Promise.all(active.map(({ done }) => done)), clock, 2 * graceMs);
    this.#waiters.endAll((taskId) => answerLost(taskId, 'the server stopped'));
  }

  async #follow(taskId: string, agent: LoopAgent['agent'], run: Run): Promise<void> {
    const result = await run.result;
    if (result.stop.cause === 'left') return;
    await applyRunResult(this.#options.tasks, taskId, result);
    // From now on whoever submits something wakes it; what came before that is looked for here.
    this.#active.delete(taskId);
    const work = await this.#openWork(taskId);
    await this.#rejectLostAnswers(taskId, work, result);
    const { reason, cause } = result.stop;
    if (work.runnable.length > 0) {
      if (reason === 'error') return this.#retryLater(taskId, agent);
      return this.#resumeFor(taskId, agent, work.runnable);
    }
    // Another one went on with it before it was said here that it was stopped.
    if (reason === 'aborted' && work.isRunOpen)
      await this.#options.tasks.setStatus(taskId, resumeIfInterrupted, null);
    // Whoever holds it answers, and the log tells.
    if (cause === 'held') return;
    const unread = new Set(work.commands.map(({ key }) => key));
    this.#waiters.end(taskId, (key) =>
      unread.has(key) ? answerNotStarted(taskId, result) : undefined,
    );
  }

  /** A run that could not write its end: whoever waits for what it began to answer is told. */
  async #rejectLostAnswers(
    taskId: string,
    { isRunOpen, commands }: OpenWork,
    { stop, error }: RunResult,
  ): Promise<void> {
    // Where another one holds the session, it ends what it finds open.
    if (!isRunOpen || stop.cause === 'held' || (await this.#isLeasedElsewhere(taskId))) return;
    const unread = new Set(commands.map(({ key }) => key));
    const why = error?.message ?? stop.reason;
    this.#waiters.reject(taskId, (key) => (unread.has(key) ? undefined : answerLost(taskId, why)));
  }

  /** For what came while it ended. */
  async #resumeFor(
    taskId: string,
    agent: LoopAgent['agent'],
    runnable: OpenWork['runnable'],
  ): Promise<void> {
    const { tasks } = this.#options;
    if (runnable.some(expectsAnswer)) return this.resume(taskId, agent);
    if (runnable.some(({ command }) => command['type'] === 'abort'))
      return this.wake(taskId, agent, AbortSignal.abort());
    if ((await tasks.find({ id: taskId }))?.task.status === 'RUNNING') this.wake(taskId, agent);
  }

  async #isLeasedElsewhere(taskId: string): Promise<boolean> {
    return (await this.#options.log.info(sessionId(taskId)))?.lease !== undefined;
  }

  /** Not at once: what stood in its way may still do so. */
  #retryLater(taskId: string, agent: LoopAgent['agent']): void {
    if (this.#retrying.has(taskId)) return;
    this.#retrying.add(taskId);
    const { clock, queues, onDiagnostic } = this.#options;
    const retry = async () => {
      this.#retrying.delete(taskId);
      if (queues.isClosing) return;
      // Whoever stood in its way may have answered.
      const { runnable } = await this.#openWork(taskId);
      if (runnable.length > 0) await this.#resumeFor(taskId, agent, runnable);
    };
    const report = (error: unknown) =>
      onDiagnostic(`Task ${taskId}: it does not go on: ${errorReason(error)}`);
    clock.after(retryDelayMs, () => void retry().catch(report), { isIdle: true });
  }

  #openWork(taskId: string): Promise<OpenWork> {
    const { journals } = this.#options;
    const read = (journal: LocalJournal) => journal.openWork();
    return journals.use(taskId, read, loopJournalOptions);
  }
}

async function stateOf(log: Log, taskId: string): Promise<FoldState> {
  const session = sessionId(taskId);
  return (await log.info(session)) === undefined ? emptyState(session) : snapshot(log, session);
}

function observerOf({ tracer, ids }: SpanExporter, agentName: string): Observer {
  return openTelemetryObserver({ tracer, ids, agentName }).observe;
}

/** What a client's key is on the log. */
function messageKey(key: string): string {
  return `message:${key}`;
}

/** A message that is heard is taken off the queue together with its item; one that is taken back, alone. */
function consumesMessage(taskId: string, key: string) {
  return ({ fact }: LogRecord, previous: LogRecord | undefined): boolean => {
    const consumed = previous?.fact;
    if (consumed?.type !== 'command_consumed' || consumed.key !== key) return false;
    if (fact?.type === 'item_started') return true;
    throw messageWithdrawn(taskId);
  };
}
