import type { Run, RunResult } from '@millrace/agent';
import { emptyState, type FoldState, type JsonObject, sessionId } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { ServerError } from '../http/server-error.ts';
import type { Command } from '../routes/command.ts';
import type { Answer, Submitted } from '../routes/service.ts';
import type { LocalJournal, OpenWork } from '../tasks/local-journal.ts';
import type { KeptTask } from '../tasks/task-rows.ts';
import { assertUsable } from '../tasks/task-status.ts';
import type { Content } from '../wire/content.ts';
import type { TaskStatus } from '../wire/task.ts';
import { logAnswer } from './log-answer.ts';
import { loopCommand } from './loop-command.ts';
import { reasonOf } from './reason-of.ts';
import type { RunnerOptions } from './runner-options.ts';
import type { LoopAgent } from './served-agent.ts';
import { unlessLate } from './unless-aborted.ts';

interface Going {
  readonly run: Run;
  readonly controller: AbortController;
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
  /** Those who wait for the answer to a message, by the key of its command. */
  readonly #waiting = new Map<string, Map<string, AbortController>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** A run, or what follows the one that goes on. */
  async answer(kept: KeptTask, agent: LoopAgent, content: Content): Promise<Answer> {
    const { log, ids } = this.#options;
    const taskId = kept.task.id;
    const key = `server:${ids.execution()}`;
    const before = await stateOf(log, taskId);
    const lost = new AbortController();
    const waiting = this.#waiting.get(taskId) ?? new Map<string, AbortController>();
    this.#waiting.set(taskId, waiting.set(key, lost));
    try {
      await this.submit(kept, agent, { type: 'message', content }, key);
    } catch (error) {
      this.#forget(taskId, key);
      throw error;
    }
    return logAnswer({
      ...{ log, taskId, before, lost: lost.signal },
      begins: ({ fact }) => fact?.type === 'command_consumed' && fact.key === key,
    });
  }

  async submit(
    { task }: KeptTask,
    { agent }: LoopAgent,
    command: Command,
    key: string,
    more: JsonObject = {},
  ): Promise<Submitted> {
    const { log, tasks, works, ids } = this.#options;
    works.assertOpen();
    const isAbort = command.type === 'abort';
    const json = { ...loopCommand(command, ids.item()), ...more };
    await tasks.setStatus(task.id, (now) => resumed(task.id, now, isAbort), null);
    const { offset, isRepeat } = await log.submit(sessionId(task.id), json, key);
    // Where nothing goes on there is nothing to stop, and nothing is begun by that either.
    this.wake(task.id, agent, isAbort ? AbortSignal.abort(command.reason) : undefined);
    return { offset, is_repeat: isRepeat };
  }

  /** Goes on with a session, unless it does. */
  wake(taskId: string, agent: LoopAgent['agent'], stopped?: AbortSignal): void {
    if (this.#going.has(taskId) || this.#options.works.isClosing) return;
    const controller = new AbortController();
    const signal = stopped ?? controller.signal;
    this.adopt(taskId, agent, agent.resume(sessionId(taskId), { signal }), controller);
  }

  /** Looks after a run, whoever began it. */
  adopt(taskId: string, agent: LoopAgent['agent'], run: Run, controller: AbortController): void {
    const done = this.#follow(taskId, agent, run).catch((error: unknown) => {
      this.#going.delete(taskId);
      this.#options.onDiagnostic(`Task ${taskId}: its run is lost: ${reasonOf(error)}`);
    });
    this.#going.set(taskId, { run, controller, done });
  }

  /** Stops the run. One that waits for somebody is taken up for that, so that nothing of it is left open. */
  async stop(taskId: string, { agent }: LoopAgent, reason: string): Promise<void> {
    const { log, clock, graceMs, ids } = this.#options;
    const session = sessionId(taskId);
    const isElsewhere = async () => (await log.info(session))?.lease !== undefined;
    if (this.#going.has(taskId) || (await isElsewhere())) {
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
  }

  /** Runs end as aborted, with what they said until then. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const going = [...this.#going.values()];
    for (const { controller } of going) controller.abort('The server stopped');
    await unlessLate(Promise.all(going.map(({ done }) => done)), clock, 2 * graceMs);
  }

  async #follow(taskId: string, agent: LoopAgent['agent'], run: Run): Promise<void> {
    const result = await run.result;
    await this.#settle(taskId, result);
    // From now on whoever submits something wakes it; what came before that is looked for here.
    this.#going.delete(taskId);
    const { commands, asked } = await this.#openWork(taskId);
    const { reason, cause } = result.stop;
    if (asked.length > 0 && reason === 'error') return this.#wakeSoon(taskId, agent);
    if (asked.length > 0) {
      await this.#options.tasks.setStatus(taskId, goesOn, null);
      return this.wake(taskId, agent);
    }
    // Whoever holds it answers, and the log tells.
    if (cause === 'held') return;
    this.#tellLost(taskId, new Set(commands.map(({ key }) => key)), result);
  }

  /** Not at once: what stood in its way may still do so. */
  #wakeSoon(taskId: string, agent: LoopAgent['agent']): void {
    if (this.#again.has(taskId)) return;
    this.#again.add(taskId);
    const wake = () => {
      this.#again.delete(taskId);
      this.wake(taskId, agent);
    };
    this.#options.clock.after(againMs, wake, { isIdle: true });
  }

  #openWork(taskId: string): Promise<OpenWork> {
    const { journals } = this.#options;
    const look = (journal: LocalJournal) => journal.openWork();
    return journals.use(taskId, look, loopJournal);
  }

  async #settle(taskId: string, { stop, error }: RunResult): Promise<void> {
    const { tasks } = this.#options;
    const become = (status: TaskStatus, reason: string) =>
      tasks.setStatus(taskId, (now) => (now === 'RUNNING' ? status : undefined), reason);
    if (stop.reason === 'error' && stop.cause !== 'held')
      await become('FAILED', error?.message ?? 'The run ended as an error');
    if (stop.reason === 'limit') await become('FAILED', `A limit was reached: ${stop.cause ?? ''}`);
    if (stop.reason === 'aborted') await become('INTERRUPTED', 'The run was stopped');
  }

  /** Whoever waits for an answer that does not come in this run is told so. */
  #tellLost(
    taskId: string,
    unread: ReadonlySet<string>,
    { stop, error }: Pick<RunResult, 'stop' | 'error'>,
  ): void {
    for (const [key, lost] of this.#waiting.get(taskId) ?? []) {
      if (unread.has(key)) lost.abort(unanswered(taskId, stop.reason, error?.message));
      this.#forget(taskId, key);
    }
  }

  #forget(taskId: string, key: string): void {
    const waiting = this.#waiting.get(taskId);
    waiting?.delete(key);
    if (waiting?.size === 0) this.#waiting.delete(taskId);
  }
}

async function stateOf(log: Log, taskId: string): Promise<FoldState> {
  const session = sessionId(taskId);
  return (await log.info(session)) === undefined ? emptyState(session) : snapshot(log, session);
}

/** What was stopped is taken up again. */
function goesOn(now: TaskStatus): TaskStatus | undefined {
  return now === 'INTERRUPTED' ? 'RUNNING' : undefined;
}

function resumed(taskId: string, now: TaskStatus, isAbort: boolean): TaskStatus | undefined {
  assertUsable(taskId, now);
  return now === 'RUNNING' || isAbort ? undefined : 'RUNNING';
}

function unanswered(taskId: string, reason: string, why: string | undefined): ServerError {
  const because = why === undefined ? reason : `${reason}: ${why}`;
  const message = `Cannot answer in task ${taskId} now: the run before it ended (${because}). The message waits in the queue`;
  return new ServerError('bad_state', message, { task: taskId }, { details: { stop: reason } });
}
