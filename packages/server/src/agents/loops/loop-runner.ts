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
import { reasonOf } from '../../contract/server-error.ts';
import type { Answer, RequestMetadata, SubmitResult } from '../../contract/service.ts';
import { traceJson } from '../../journal/journal-state.ts';
import type { LocalJournal, OpenWork } from '../../journal/local-journal.ts';
import { assertUsable, goesOn, resumed, settleTask } from '../../stores/task-status.ts';
import type { KeptTask } from '../../stores/task-store.ts';
import { unlessLate } from '../abort-race.ts';
import { AnswerWaiters, logAnswer, lostAnswer, unanswered, unheard } from '../answers.ts';
import type { RunnerOptions } from '../runner-options.ts';
import { findQueued, isAsking, loopCommand, quietTypes } from './loop-commands.ts';

interface Going {
  readonly leaving: AbortController;
  readonly done: Promise<void>;
}

/** So soon a run is tried again that found its session held, or its log broken. */
const againMs = 500;

/** A loop ends what was left open by itself, and must not find the server in its way. */
export const loopJournal = { isMending: false, idleMs: 0 } as const;

/** Serves agent loops, which drive their sessions themselves: what is said to them are commands on the log. */
export class LoopRunner {
  readonly #options: RunnerOptions;
  readonly #going = new Map<string, Going>();
  /** Those that are tried again in a moment. */
  readonly #again = new Set<string>();
  readonly #waiters = new AnswerWaiters();
  readonly #nameOf: (agent: LoopAgent['agent']) => string;
  readonly #observers = new WeakMap<LoopAgent['agent'], Observer>();

  /** `nameOf`: what an agent is served as. */
  constructor(options: RunnerOptions, nameOf = ({ name }: LoopAgent['agent']): string => name) {
    this.#options = options;
    this.#nameOf = nameOf;
  }

  /** A run, or what follows the one that goes on. */
  async answer(
    kept: KeptTask,
    agent: LoopAgent,
    content: Content,
    { key: given, trace }: RequestMetadata = {},
  ): Promise<Answer> {
    const { log, ids } = this.#options;
    const taskId = kept.task.id;
    const key = given === undefined ? `server:${ids.execution()}` : nameOf(given);
    const before = await stateOf(log, taskId);
    const waiter = this.#waiters.add(taskId, key);
    try {
      await this.submit(kept, agent, { type: 'message', content }, key, traceJson(trace));
    } catch (error) {
      this.#waiters.forget(taskId, waiter);
      throw error;
    }
    const lost = waiter.lost.signal;
    return logAnswer({ log, taskId, before, lost, begins: heard(taskId, key) });
  }

  /** What was sent with the key before has this answer. */
  async known(kept: KeptTask, { agent }: LoopAgent, given: string): Promise<Answer | undefined> {
    const { log, tasks } = this.#options;
    const taskId = kept.task.id;
    const session = sessionId(taskId);
    const key = nameOf(given);
    const queuedAt = await findQueued(log, taskId, key);
    if (queuedAt === undefined) return undefined;
    const before = await snapshot(log, session, { through: queuedAt });
    const waiter = this.#waiters.add(taskId, key);
    const source = { log, taskId, before, lost: waiter.lost.signal, begins: heard(taskId, key) };
    const { isRunOpen, commands } = await this.#openWork(taskId);
    const isUnread = commands.some((command) => command.key === key);
    if (!isUnread && !isRunOpen) {
      this.#waiters.forget(taskId, waiter);
      return logAnswer({ ...source, through: (await log.info(session))?.through ?? 0 });
    }
    if (isUnread) await tasks.setStatus(taskId, (now) => resumed(taskId, now, false), null);
    // Unless it goes on, here or elsewhere: what a dead run left open is ended, what waits is answered.
    this.wake(taskId, agent);
    return logAnswer(source);
  }

  async submit(
    { task }: KeptTask,
    { agent }: LoopAgent,
    command: Command,
    key: string,
    more: JsonObject = {},
  ): Promise<SubmitResult> {
    const { log, tasks, works, ids } = this.#options;
    works.assertOpen();
    assertUsable(task.id, task.status ?? 'RUNNING');
    const isQuiet = quietTypes.has(command.type);
    const json = { ...loopCommand(command, ids.item()), ...more };
    const { offset, isRepeat } = await log.submit(sessionId(task.id), json, key);
    // Only now: whoever ends a run elsewhere says that it was stopped, and then looks at the log.
    const { status } = await tasks.setStatus(
      task.id,
      (now) => resumed(task.id, now, isQuiet),
      null,
    );
    // Where nothing goes on there is nothing to stop, and nothing is begun by that either.
    if (command.type === 'abort') this.wake(task.id, agent, AbortSignal.abort(command.reason));
    else if (!isQuiet || status === 'RUNNING') this.wake(task.id, agent);
    return { offset, is_repeat: isRepeat };
  }

  /** Goes on with a session, unless it does. */
  wake(taskId: string, agent: LoopAgent['agent'], stopped?: AbortSignal): void {
    if (this.#going.has(taskId) || this.#options.works.isClosing) return;
    const leaving = new AbortController();
    const observers = this.observersOf(agent);
    const own = { signal: stopped, leave: leaving.signal, observers };
    this.adopt(taskId, agent, agent.resume(sessionId(taskId), own), leaving);
  }

  /** Goes on with what somebody left, whatever he said of it before. */
  async takeUp(taskId: string, agent: LoopAgent['agent']): Promise<void> {
    await this.#options.tasks.setStatus(taskId, goesOn, null);
    this.wake(taskId, agent);
  }

  /** What hears of a run for whoever collects spans. */
  observersOf(agent: LoopAgent['agent']): readonly Observer[] {
    const { exporter } = this.#options;
    if (exporter === undefined) return [];
    const known = this.#observers.get(agent) ?? observerOf(exporter, this.#nameOf(agent));
    this.#observers.set(agent, known);
    return [known];
  }

  /** Looks after a run, whoever began it. */
  adopt(taskId: string, agent: LoopAgent['agent'], run: Run, leaving: AbortController): void {
    const done = this.#follow(taskId, agent, run).catch((error: unknown) => {
      this.#going.delete(taskId);
      const why = reasonOf(error);
      this.#waiters.end(taskId, () => lostAnswer(taskId, why));
      this.#options.onDiagnostic(`Task ${taskId}: its run is lost: ${why}`);
    });
    this.#going.set(taskId, { leaving, done });
  }

  /** Stops the run. One that waits for somebody is taken up for that, so that nothing of it is left open. */
  async stop(taskId: string, { agent }: LoopAgent, reason: string): Promise<void> {
    const { log, clock, graceMs, ids } = this.#options;
    const session = sessionId(taskId);
    if (this.#going.has(taskId) || (await this.#isElsewhere(taskId))) {
      await log.submit(session, { type: 'abort', reason }, `server:${ids.execution()}`);
    } else {
      const { isRunOpen, isTurnOpen } = await this.#openWork(taskId);
      if (!isRunOpen && !isTurnOpen) return;
      this.wake(taskId, agent, AbortSignal.abort(reason));
    }
    await unlessLate(this.#going.get(taskId)?.done ?? Promise.resolve(), clock, 2 * graceMs);
  }

  /** What waits in a queue that nobody will look at again. */
  async clear(taskId: string): Promise<void> {
    const { journals } = this.#options;
    await journals.use(
      taskId,
      async (journal) => {
        for (const { key } of await journal.commands()) await journal.consume(key);
      },
      loopJournal,
    );
    this.#waiters.end(taskId, () => unheard(taskId));
  }

  /** Runs are left as they are: the next server, or another one, goes on with them. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const going = [...this.#going.values()];
    for (const { leaving } of going) leaving.abort();
    await unlessLate(Promise.all(going.map(({ done }) => done)), clock, 2 * graceMs);
    this.#waiters.endAll((taskId) => lostAnswer(taskId, 'the server stopped'));
  }

  async #follow(taskId: string, agent: LoopAgent['agent'], run: Run): Promise<void> {
    const result = await run.result;
    if (result.stop.cause === 'left') return;
    await settleTask(this.#options.tasks, taskId, result);
    // From now on whoever submits something wakes it; what came before that is looked for here.
    this.#going.delete(taskId);
    const work = await this.#openWork(taskId);
    await this.#endDead(taskId, work, result);
    const { reason, cause } = result.stop;
    if (work.asked.length > 0) {
      if (reason === 'error') return this.#goOnSoon(taskId, agent);
      return this.#goOn(taskId, agent, work.asked);
    }
    // Another one went on with it before it was said here that it was stopped.
    if (reason === 'aborted' && work.isRunOpen)
      await this.#options.tasks.setStatus(taskId, goesOn, null);
    // Whoever holds it answers, and the log tells.
    if (cause === 'held') return;
    const unread = new Set(work.commands.map(({ key }) => key));
    this.#waiters.end(taskId, (key) => (unread.has(key) ? unanswered(taskId, result) : undefined));
  }

  /** A run that could not write its end: whoever waits for what it began to answer is told. */
  async #endDead(
    taskId: string,
    { isRunOpen, commands }: OpenWork,
    { stop, error }: RunResult,
  ): Promise<void> {
    // Where another one holds the session, it ends what it finds open.
    if (!isRunOpen || stop.cause === 'held' || (await this.#isElsewhere(taskId))) return;
    const unread = new Set(commands.map(({ key }) => key));
    const why = error?.message ?? stop.reason;
    this.#waiters.tell(taskId, (key) => (unread.has(key) ? undefined : lostAnswer(taskId, why)));
  }

  /** For what came while it ended. */
  async #goOn(taskId: string, agent: LoopAgent['agent'], asked: OpenWork['asked']): Promise<void> {
    const { tasks } = this.#options;
    if (asked.some(isAsking)) return this.takeUp(taskId, agent);
    if (asked.some(({ command }) => command['type'] === 'abort'))
      return this.wake(taskId, agent, AbortSignal.abort());
    if ((await tasks.find({ id: taskId }))?.task.status === 'RUNNING') this.wake(taskId, agent);
  }

  async #isElsewhere(taskId: string): Promise<boolean> {
    return (await this.#options.log.info(sessionId(taskId)))?.lease !== undefined;
  }

  /** Not at once: what stood in its way may still do so. */
  #goOnSoon(taskId: string, agent: LoopAgent['agent']): void {
    if (this.#again.has(taskId)) return;
    this.#again.add(taskId);
    const { clock, works, onDiagnostic } = this.#options;
    const goOn = async () => {
      this.#again.delete(taskId);
      if (works.isClosing) return;
      // Whoever stood in its way may have answered.
      const { asked } = await this.#openWork(taskId);
      if (asked.length > 0) await this.#goOn(taskId, agent, asked);
    };
    const told = (error: unknown) =>
      onDiagnostic(`Task ${taskId}: it does not go on: ${reasonOf(error)}`);
    clock.after(againMs, () => void goOn().catch(told), { isIdle: true });
  }

  #openWork(taskId: string): Promise<OpenWork> {
    const { journals } = this.#options;
    const look = (journal: LocalJournal) => journal.openWork();
    return journals.use(taskId, look, loopJournal);
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
function nameOf(key: string): string {
  return `message:${key}`;
}

/** A message that is heard is taken off the queue together with its item; one that is taken back, alone. */
function heard(taskId: string, key: string) {
  return ({ fact }: LogRecord, previous: LogRecord | undefined): boolean => {
    const taken = previous?.fact;
    if (taken?.type !== 'command_consumed' || taken.key !== key) return false;
    if (fact?.type === 'item_started') return true;
    throw unheard(taskId);
  };
}
