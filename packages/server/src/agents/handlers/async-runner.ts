import { type Stop, sessionId, type TraceContext } from '@millrace/core';
import type { AsyncAgent, HandlerContext } from '../../contract/served-agent.ts';
import { codeOf, reasonOf } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import type { JournalTurn } from '../../contract/task-journal.ts';
import { type QueuedCommand, traceIn, traceJson } from '../../journal/journal-state.ts';
import type { LocalJournal } from '../../journal/local-journal.ts';
import { abandonTurn, closeTurn, interrupted } from '../../journal/turn-closing.ts';
import { eventOf } from '../../stores/task-events.ts';
import type { KeptTask } from '../../stores/task-store.ts';
import { left, unlessAborted, unlessLate } from '../abort-race.ts';
import type { RunnerOptions } from '../runner-options.ts';
import { stopKindOf } from '../task-queues.ts';
import { createContext } from './handler-context.ts';
import { exportRun } from './tracing.ts';

/** Who handles a task's events; undefined where nobody here does. */
type FindAsync = (
  agentId: string,
) => Promise<{ readonly info: AgentInfo; readonly agent: AsyncAgent } | undefined>;

interface Handling extends KeptTask {
  readonly info: AgentInfo;
  readonly agent: AsyncAgent;
  readonly journal: LocalJournal;
  readonly signal: AbortSignal;
}

/** What `task/create` leaves on the log for an agent that wants to hear of it. */
const taskCreate = { type: 'task_create', key: 'server:task-create' } as const;

/** Hands tasks' events to async agents: in order, one at a time, each until its handler resolved. */
export class AsyncRunner {
  readonly #options: RunnerOptions;
  readonly #find: FindAsync;
  /** Tasks whose events are handed over now; true where more came meanwhile. */
  readonly #draining = new Map<string, boolean>();

  constructor(options: RunnerOptions, find: FindAsync) {
    this.#options = options;
    this.#find = find;
  }

  async created(taskId: string, trace?: TraceContext): Promise<void> {
    const { log } = this.#options;
    const { type, key } = taskCreate;
    await log.submit(sessionId(taskId), { type, id: key, content: null, ...traceJson(trace) }, key);
    this.wake(taskId);
  }

  /** Something waits on the task's log, or may. */
  wake(taskId: string): void {
    const isDraining = this.#draining.has(taskId);
    this.#draining.set(taskId, isDraining);
    if (!isDraining) void this.#drain(taskId);
  }

  async #drain(taskId: string): Promise<void> {
    const { works, onDiagnostic } = this.#options;
    try {
      for (let goesOn = true; goesOn; ) {
        this.#draining.set(taskId, false);
        goesOn = await works.run(taskId, (signal) => this.#next(taskId, signal));
        goesOn ||= this.#draining.get(taskId) === true;
      }
    } catch (error) {
      if (!works.isClosing) onDiagnostic(`Task ${taskId}: its events wait: ${reasonOf(error)}`);
    } finally {
      this.#draining.delete(taskId);
    }
  }

  /** Deals with the first that waits. False where there is none, or the task does not go on. */
  async #next(taskId: string, signal: AbortSignal): Promise<boolean> {
    const { journals } = this.#options;
    return journals.use(taskId, async (journal) => {
      if ((await journal.commands()).length === 0 || !(await this.#running(taskId))) return false;
      // With the lease, for which it may have waited until another process was done with some of it.
      await journal.append([]);
      const [next] = await journal.commands();
      const running = await this.#running(taskId);
      if (next === undefined || running === undefined) return false;
      const { kept, found } = running;
      const handler = this.#handlerOf(next, kept, found.agent);
      if (handler === undefined) {
        await journal.consume(next.key);
        return true;
      }
      return this.#handle({ ...kept, ...found, journal, signal }, handler, next);
    });
  }

  /** The task and who handles its events; undefined where it does not go on, or not here. */
  async #running(taskId: string) {
    const kept = await this.#options.tasks.find({ id: taskId });
    if (kept?.task.status !== 'RUNNING') return undefined;
    const found = await this.#find(kept.agentId);
    return found && { kept, found };
  }

  /** None for what it does not want to hear of, or cannot understand. */
  #handlerOf(
    command: QueuedCommand,
    { task, agentId }: KeptTask,
    agent: AsyncAgent,
  ): ((context: HandlerContext) => Promise<void>) | undefined {
    if (command.command['type'] === taskCreate.type) return agent.onTaskCreate;
    const event = eventOf(task.id, agentId, command);
    return event && ((context) => agent.onEvent(event, context));
  }

  /** A throw is an answer too: the event is not handed over again. Only who was stopped with us hears of it anew. */
  async #handle(
    handling: Handling,
    handler: (context: HandlerContext) => Promise<void>,
    { key, command, offset }: QueuedCommand,
  ): Promise<boolean> {
    const { journal, signal, task, info } = handling;
    const startMs = this.#options.clock.now();
    const turn = await journal.beginTurn(() => [], traceIn(command));
    try {
      const { stop, error } = await this.#call(handling, turn, handler);
      const isClosing = stopKindOf(signal) === 'close_server';
      if (error !== undefined) await this.#fail(task.id, error.message);
      if (!isClosing) await journal.consume(key);
      if (!isClosing && command['type'] === 'event') await this.#track(task.id, offset);
      await turn.finish(stop, error);
      exportRun(this.#options, { task, agent: info, turn, startMs, stop, error });
      return stop.reason === 'stop';
    } catch (error) {
      await abandonTurn(journal, turn);
      throw error;
    }
  }

  /** Tells the agent that its task was cancelled, and takes what still waits off the queue. */
  async cancelled({ task, agentId }: KeptTask): Promise<void> {
    const { works, journals, onDiagnostic } = this.#options;
    const found = await this.#find(agentId);
    const tell = (signal: AbortSignal) =>
      journals.use(task.id, async (journal) => {
        const onCancel = found?.agent.onCancel;
        if (found !== undefined && onCancel !== undefined) {
          const turn = await journal.beginTurn();
          const handling = { task, agentId, ...found, journal, signal };
          const { stop, error } = await this.#call(handling, turn, onCancel);
          await turn.finish(stop, error);
          if (error !== undefined)
            onDiagnostic(`Task ${task.id}: onCancel threw: ${error.message}`);
        }
        for (const { key } of await journal.commands()) await journal.consume(key);
      });
    await works.run(task.id, tell, { isEnding: true });
  }

  async #call(
    { task, info, journal, signal }: Handling,
    turn: JournalTurn,
    handler: (context: HandlerContext) => Promise<void>,
  ): Promise<Outcome> {
    const services = this.#options;
    const { clock, graceMs } = services;
    const context = createContext({
      ...{ task, agent: info, journal, turn, signal, firstIndex: 0, services },
    });
    const outcome = await outcomeOf(
      async () => handler(context),
      signal,
      async (work) => {
        await unlessLate(work, clock, graceMs);
      },
    );
    await closeTurn(journal, turn, outcome.stop);
    return outcome;
  }

  async #fail(taskId: string, reason: string): Promise<void> {
    const { tasks } = this.#options;
    await tasks.setStatus(taskId, (now) => (now === 'RUNNING' ? 'FAILED' : undefined), reason);
  }

  async #track(taskId: string, offset: number): Promise<void> {
    const { trackers } = this.#options;
    const last_processed_event_id = `${taskId}.${offset}`;
    await trackers.update(taskId, { last_processed_event_id }).catch(() => {});
  }
}

interface Outcome {
  readonly stop: Stop;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

async function outcomeOf(
  work: () => Promise<void>,
  signal: AbortSignal,
  leave: (work: Promise<void>) => Promise<void>,
): Promise<Outcome> {
  const running = work();
  try {
    const ended = await unlessAborted(running, signal);
    if (ended !== left) return { stop: { reason: 'stop' } };
  } catch (error) {
    if (!signal.aborted)
      return {
        stop: { reason: 'error', cause: codeOf(error) },
        error: { code: codeOf(error), message: reasonOf(error) },
      };
  }
  await leave(running.catch(() => {}));
  return { stop: stopKindOf(signal) === 'close_server' ? interrupted : { reason: 'aborted' } };
}
