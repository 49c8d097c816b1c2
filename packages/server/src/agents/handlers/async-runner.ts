import { type Stop, sessionId, type TraceContext } from '@millrace/core';
import type { AsyncAgent, HandlerContext } from '../../contract/served-agent.ts';
import { errorCode, errorReason, publicReason } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import type { JournalTurn } from '../../contract/task-journal.ts';
import { unknownCommand } from '../../journal/journal-errors.ts';
import { type QueuedCommand, traceIn, traceJson } from '../../journal/journal-state.ts';
import type { LocalJournal } from '../../journal/local-journal.ts';
import { abandonTurn, closeTurn, interrupted } from '../../journal/turn-closing.ts';
import { trackEvent } from '../../stores/row-services.ts';
import { eventOf } from '../../stores/task-events.ts';
import { failedIfRunning } from '../../stores/task-status.ts';
import type { StoredTask } from '../../stores/task-store.ts';
import { abandoned, raceAbort, raceTimeout } from '../abort-race.ts';
import { reportHandlerFailure } from '../run-log.ts';
import type { RunnerOptions } from '../runner-options.ts';
import { stopKindOf } from '../task-queues.ts';
import { createContext } from './handler-context.ts';
import { exportRun } from './tracing.ts';

/**
 * Finds the agent that handles a task's events. Returns undefined if the agent does not run in this
 * process.
 */
type FindAsyncAgent = (
  agentId: string,
) => Promise<{ readonly info: AgentInfo; readonly agent: AsyncAgent } | undefined>;

interface HandlerCall extends Pick<StoredTask, 'task' | 'agentId'> {
  readonly info: AgentInfo;
  readonly agent: AsyncAgent;
  readonly journal: LocalJournal;
  readonly signal: AbortSignal;
}

/** The command that `task/create` queues for an agent with `onTaskCreate`. */
const taskCreateCommand = { type: 'task_create', key: 'server:task-create' } as const;

/**
 * Delivers the events of tasks to async agents, in order for each task. An event is delivered after the
 * handler of the previous event has resolved.
 */
export class AsyncRunner {
  readonly #options: RunnerOptions;
  readonly #find: FindAsyncAgent;
  /**
   * The tasks whose events are being delivered. The value is true if more events arrived during the delivery.
   */
  readonly #draining = new Map<string, boolean>();

  constructor(options: RunnerOptions, find: FindAsyncAgent) {
    this.#options = options;
    this.#find = find;
  }

  async taskCreated(taskId: string, trace?: TraceContext): Promise<void> {
    const { log } = this.#options;
    const { type, key } = taskCreateCommand;
    await log.submit(sessionId(taskId), { type, id: key, content: null, ...traceJson(trace) }, key);
    this.wake(taskId);
  }

  /** Delivers the events that are queued on the task's log. */
  wake(taskId: string): void {
    const isDraining = this.#draining.has(taskId);
    this.#draining.set(taskId, isDraining);
    if (!isDraining) void this.#drain(taskId);
  }

  async #drain(taskId: string): Promise<void> {
    const { queues, storage, onDiagnostic } = this.#options;
    try {
      for (let resumeIfInterrupted = true; resumeIfInterrupted; ) {
        this.#draining.set(taskId, false);
        resumeIfInterrupted = await queues.run(taskId, (signal) => this.#next(taskId, signal));
        resumeIfInterrupted ||= this.#draining.get(taskId) === true;
      }
    } catch (error) {
      storage.report(error);
      if (!queues.isClosing)
        onDiagnostic(`Task ${taskId}: cannot deliver queued events: ${errorReason(error)}`);
    } finally {
      this.#draining.delete(taskId);
    }
  }

  /**
   * Handles the first queued command. Returns false if no command is queued, or if the task is not running.
   */
  async #next(taskId: string, signal: AbortSignal): Promise<boolean> {
    const { journals } = this.#options;
    return journals.use(taskId, async (journal) => {
      if ((await journal.commands()).length === 0 || !(await this.#findRunning(taskId)))
        return false;
      // An empty append acquires the lease. It may wait for a different process, which may handle commands
      // during this time. The commands are therefore read again.
      await journal.append([]);
      const [next] = await journal.commands();
      const running = await this.#findRunning(taskId);
      if (next === undefined || running === undefined) return false;
      const { stored, resolved } = running;
      const handler = this.#handlerOf(next, stored, resolved.agent);
      if (handler === undefined) {
        await this.#consumeUnhandled(journal, next);
        return true;
      }
      return this.#handle({ ...stored, ...resolved, journal, signal }, handler, next);
    });
  }

  /**
   * Removes a command without a handler from the queue. If the command's type is unknown, it writes an error
   * to the log.
   */
  async #consumeUnhandled(journal: LocalJournal, next: QueuedCommand): Promise<void> {
    if (next.command['type'] === taskCreateCommand.type) return journal.consume(next.key);
    const error = unknownCommand(next);
    this.#options.onDiagnostic(`Task ${journal.taskId}: ${error.message}`);
    await journal.consume(next.key, error);
  }

  /**
   * Returns the task and its agent. Returns undefined if the task is not running, or if its agent does not
   * run in this process.
   */
  async #findRunning(taskId: string) {
    const stored = await this.#options.tasks.find({ id: taskId });
    if (stored?.task.status !== 'RUNNING') return undefined;
    const resolved = await this.#find(stored.agentId);
    return resolved && { stored, resolved };
  }

  /**
   * Returns the handler of a command. Returns undefined if the agent has no handler for it, or if the
   * command is unknown.
   */
  #handlerOf(
    command: QueuedCommand,
    { task, agentId }: StoredTask,
    agent: AsyncAgent,
  ): ((context: HandlerContext) => Promise<void>) | undefined {
    if (command.command['type'] === taskCreateCommand.type) return agent.onTaskCreate;
    const event = eventOf(task.id, agentId, command);
    return event && ((context) => agent.onEvent(event, context));
  }

  /**
   * Calls the handler of an event. An event is delivered again only if the server closed while the handler
   * ran. If the handler throws, the event is not delivered again.
   */
  async #handle(
    call: HandlerCall,
    handler: (context: HandlerContext) => Promise<void>,
    { key, command, offset }: QueuedCommand,
  ): Promise<boolean> {
    const { journal, signal, task, info } = call;
    const startMs = this.#options.clock.now();
    const turn = await journal.beginTurn(() => [], traceIn(command));
    const { epoch } = turn;
    try {
      await this.#options.tasks.claim(task.id, epoch, { isRunning: true });
      const { stop, error, cause } = await this.#call(call, turn, handler);
      const isClosing = stopKindOf(signal) === 'close_server';
      if (error !== undefined) await this.#fail(task.id, error.message, epoch);
      if (!isClosing) await journal.consume(key);
      if (!isClosing && command['type'] === 'event') await this.#track(task.id, offset, epoch);
      await turn.finish(stop, error);
      exportRun(this.#options, { task, agent: info, turn, startMs, stop, error });
      const where = { task: task.id, agent: info.name, run: turn.runId };
      if (error !== undefined)
        reportHandlerFailure(this.#options, { ...where, code: error.code, cause });
      return stop.reason === 'stop';
    } catch (error) {
      await abandonTurn(journal, turn);
      throw error;
    }
  }

  /** Calls the agent's `onCancel`, and removes the task's queued commands. */
  async taskCancelled({ task, agentId }: StoredTask): Promise<void> {
    const { queues, journals, onDiagnostic } = this.#options;
    const resolved = await this.#find(agentId);
    const notify = (signal: AbortSignal) =>
      journals.use(task.id, async (journal) => {
        const onCancel = resolved?.agent.onCancel;
        if (resolved !== undefined && onCancel !== undefined) {
          const turn = await journal.beginTurn();
          const call = { task, agentId, ...resolved, journal, signal };
          const { stop, error, cause } = await this.#call(call, turn, onCancel);
          await turn.finish(stop, error);
          if (error !== undefined)
            onDiagnostic(`Task ${task.id}: onCancel threw: ${errorReason(cause)}`);
        }
        for (const { key } of await journal.commands()) await journal.consume(key);
      });
    await queues.run(task.id, notify, { isEnding: true });
  }

  async #call(
    { task, info, journal, signal }: HandlerCall,
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
        await raceTimeout(work, clock, graceMs);
      },
    );
    await closeTurn(journal, turn, outcome.stop);
    return outcome;
  }

  async #fail(taskId: string, reason: string, epoch: number): Promise<void> {
    await this.#options.tasks.setStatus(taskId, failedIfRunning, reason, epoch);
  }

  async #track(taskId: string, offset: number, epoch: number): Promise<void> {
    await trackEvent(this.#options.rows, taskId, `${taskId}.${offset}`, epoch).catch(() => {});
  }
}

interface Outcome {
  readonly stop: Stop;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** The value that the handler threw. */
  readonly cause?: unknown;
}

async function outcomeOf(
  work: () => Promise<void>,
  signal: AbortSignal,
  waitForHandler: (work: Promise<void>) => Promise<void>,
): Promise<Outcome> {
  const running = work();
  try {
    const ended = await raceAbort(running, signal);
    if (ended !== abandoned) return { stop: { reason: 'stop' } };
  } catch (error) {
    if (!signal.aborted)
      return {
        stop: { reason: 'error', cause: errorCode(error) },
        error: { code: errorCode(error), message: publicReason(error) },
        cause: error,
      };
  }
  await waitForHandler(running.catch(() => {}));
  return { stop: stopKindOf(signal) === 'close_server' ? interrupted : { reason: 'aborted' } };
}
