import { nearestNames, type OptionNames, type SessionId } from '@millrace/core';
import type { Log, SessionInfo } from '@millrace/log';
import { type Clock, systemClock } from '@millrace/providers';
import { wait } from '../abortable.ts';
import type { Agent } from '../contract/agent.ts';
import { AgentError, textOfError } from '../contract/agent-error.ts';
import type { LoopState } from '../contract/loop-state.ts';
import type { Observer } from '../contract/observer.ts';
import type { RunInput, RunResult } from '../contract/run.ts';
import { assertKnownOptions } from '../known-options.ts';
import { settingsOf } from '../run/agent-registry.ts';
import { LiveRun } from '../run/live-run.ts';
import { agentOfWork } from '../state/commands.ts';
import { type EnqueuedRun, type EnqueueOptions, enqueue, readOpenWork } from './open-work.ts';

export { type EnqueuedRun, type EnqueueOptions, enqueue } from './open-work.ts';

/** A session that a worker runs. */
export interface WorkerSession {
  readonly session: SessionId;
  /** The name of the agent that runs the session. */
  readonly agent: string;
}

/** Options of `createWorker`. */
export interface WorkerOptions {
  /** The log that contains the sessions. All agents must use this log. */
  readonly log: Log;
  /** The agents that this worker runs. Each must have a different name. */
  readonly agents: readonly Agent[];
  /** Maximum number of runs at the same time. Default: 4. */
  readonly concurrency?: number | undefined;
  /**
   * The interval at which the worker scans the log for work of other processes, in milliseconds. Each
   * interval varies randomly by up to a quarter. Default: 1 s.
   */
  readonly pollMs?: number | undefined;
  /**
   * The delay before a session is tried again after its run failed, in milliseconds. Each further failure
   * doubles the delay. Default: 1 s.
   */
  readonly baseDelayMs?: number | undefined;
  /** Maximum delay after failures, in milliseconds. Default: 60 s. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Returns the name of the agent for a session that `enqueue` did not start. If it returns undefined, the
   * worker does not run the session. Default: the worker ignores these sessions.
   */
  readonly agentOf?: ((session: SessionId) => string | undefined) | undefined;
  /**
   * Returns the `context` of a run. The worker needs this function because the log does not store the
   * context. Default: none.
   */
  readonly context?: ((taken: WorkerSession) => unknown) | undefined;
  /** Observers of all runs, in addition to the agents' own observers. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /** Called after each run that this worker has ended or parked. */
  readonly onResult?: ((result: RunResult, taken: WorkerSession) => void) | undefined;
  /** Called for problems that do not stop the worker. */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
  /** The clock of the worker. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Returns random numbers, which vary the delays. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Options of `Worker.close`. */
export interface CloseWorkerOptions {
  /**
   * The time for which active runs may continue, in milliseconds. After this time, other workers can take
   * them over. Default: 10 s.
   */
  readonly graceMs?: number | undefined;
}

/** Runs queued inputs and resumes interrupted sessions. Create it with `createWorker`. */
export interface Worker {
  /** The sessions that this worker currently runs. */
  readonly active: readonly SessionId[];
  /** Queues an input, as `enqueue` does. `agent` is optional if the worker has only one agent. */
  enqueue(
    input: RunInput,
    options?: Omit<EnqueueOptions, 'agent'> & { readonly agent?: string | undefined },
  ): Promise<EnqueuedRun>;
  /**
   * Takes no further sessions and waits for the active runs. If a run takes too long, this worker releases
   * it, and other workers can continue it.
   */
  close(options?: CloseWorkerOptions): Promise<void>;
}

const optionNames: OptionNames<WorkerOptions> = {
  log: true,
  agents: true,
  concurrency: true,
  pollMs: true,
  baseDelayMs: true,
  maxDelayMs: true,
  agentOf: true,
  context: true,
  observers: true,
  onResult: true,
  onDiagnostic: true,
  clock: true,
  random: true,
};

const defaults = { concurrency: 4, pollMs: 1000, baseDelayMs: 1000, maxDelayMs: 60_000 };
const pageLength = 100;
const resumed = { input: undefined, signal: undefined } as const;

/**
 * Creates a worker and starts it. It runs inputs that were queued with `enqueue`, and resumes sessions
 * whose process died or closed. Any number of workers can share a log, because only the worker with a
 * session's lease can run that session.
 *
 * @example
 * const worker = createWorker({ log, agents: [desk] });
 * await worker.enqueue('Refund order 17');
 * process.once('SIGTERM', () => worker.close());
 */
export function createWorker(options: WorkerOptions): Worker {
  assertKnownOptions('createWorker', options, optionNames);
  const { log, agents } = options;
  const byName = new Map(agents.map((agent) => [agent.name, agent]));
  for (const agent of agents) if (settingsOf(agent).log !== log) throw otherLog(agent.name);
  if (byName.size !== agents.length || agents.length === 0) throw badAgents(agents);
  for (const name of ['concurrency', 'pollMs', 'baseDelayMs', 'maxDelayMs'] as const)
    if (!((options[name] ?? 1) >= 1)) throw badNumber(name, options[name]);
  const loop = new WorkerLoop(options, byName);
  loop.wake();
  const [only] = agents;
  return {
    get active() {
      return loop.active;
    },
    enqueue: async (
      input,
      { agent = agents.length === 1 ? only?.name : undefined, ...rest } = {},
    ) => {
      if (agent !== undefined && !byName.has(agent)) throw unknownAgent(agent, [...byName.keys()]);
      const queued = await enqueue(log, input, { ...rest, agent: agent ?? '' });
      loop.wake();
      return queued;
    },
    close: (closeOptions = {}) => {
      assertKnownOptions('worker.close', closeOptions, { graceMs: true });
      return loop.close(closeOptions.graceMs ?? 10_000);
    },
  };
}

/** A session whose last run failed. It is tried again after a delay. */
interface Delayed {
  readonly failures: number;
  /** The earliest time of the next try. */
  readonly notBefore: number;
}

/** Scans the log for sessions that have work, runs them, and scans again. */
class WorkerLoop {
  readonly #options: WorkerOptions & typeof defaults;
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #clock: Clock;
  readonly #active = new Map<SessionId, Promise<void>>();
  readonly #leave = new AbortController();
  /**
   * The sessions that have no work for this worker. The number is the log offset up to which this is known.
   */
  readonly #skipped = new Map<SessionId, number>();
  readonly #delayed = new Map<SessionId, Delayed>();
  /** The next scan starts after this session. In this way, the worker reaches all sessions. */
  #after: SessionId | undefined;
  #scanning: Promise<void> | undefined;
  #isWoken = false;
  #isClosing = false;
  #failedScans = 0;
  #cancel = () => {};

  constructor(options: WorkerOptions, agents: ReadonlyMap<string, Agent>) {
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    this.#options = {
      ...defaults,
      ...(Object.fromEntries(given) as unknown as WorkerOptions),
    } as never;
    this.#agents = agents;
    this.#clock = options.clock ?? systemClock;
  }

  get active(): readonly SessionId[] {
    return [...this.#active.keys()];
  }

  /** Starts a scan immediately. If a scan is already running, a further scan follows it. */
  wake(): void {
    this.#isWoken = true;
    if (this.#scanning !== undefined || this.#isClosing) return;
    this.#cancel();
    this.#scanning = this.#scanWhileWoken().then(() => {
      this.#scanning = undefined;
      if (this.#isWoken) this.wake();
      else if (!this.#isClosing)
        this.#cancel = this.#clock.after(this.#pollDelay(), () => this.wake());
    });
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#cancel();
    await this.#scanning;
    const done = new AbortController();
    const ended = Promise.all(this.#active.values()).then(() => done.abort());
    await wait(this.#clock, graceMs, done.signal);
    this.#leave.abort();
    await ended;
  }

  async #scanWhileWoken(): Promise<void> {
    while (this.#isWoken && !this.#isClosing) {
      this.#isWoken = false;
      try {
        await this.#scan();
        this.#failedScans = 0;
      } catch (error) {
        this.#failedScans++;
        this.#report(`Cannot scan the log: ${textOfError(error)}`);
      }
    }
  }

  /** Returns the delay before the next scan, in milliseconds. The delay doubles after each failed scan. */
  #pollDelay(): number {
    const { pollMs, maxDelayMs } = this.#options;
    const delayMs = Math.min(pollMs * 2 ** this.#failedScans, Math.max(pollMs, maxDelayMs));
    return delayMs * (0.75 + this.#random() / 2);
  }

  get #isFull(): boolean {
    return this.#isClosing || this.#active.size >= this.#options.concurrency;
  }

  /** Starts runs until there is no more work or the maximum number of runs is reached. */
  async #scan(): Promise<void> {
    const first = this.#after;
    const listed = new Set<SessionId>();
    let after = first;
    for (;;) {
      if (this.#isFull) return;
      const page = await this.#options.log.list({ isWaiting: true, limit: pageLength, after });
      for (const info of page) {
        if (this.#isFull) return;
        listed.add(info.session);
        this.#after = info.session;
        await this.#take(info);
      }
      after = page.at(-1)?.session;
      if (page.length < pageLength) break;
    }
    this.#after = undefined;
    if (first === undefined) this.#forgetUnlisted(listed);
    // This scan began in the middle of the list. The next scan starts at the beginning of the list.
    else this.#isWoken = true;
  }

  async #take({ session, through, isDamaged }: SessionInfo): Promise<void> {
    if (isDamaged || this.#active.has(session) || this.#skipped.get(session) === through) return;
    if ((this.#delayed.get(session)?.notBefore ?? 0) > this.#clock.now()) return;
    try {
      const { agent: queuedFor, isRunnable } = await readOpenWork(this.#options.log, session);
      const name = queuedFor ?? this.#options.agentOf?.(session);
      const agent = name === undefined ? undefined : this.#agents.get(name);
      if (!isRunnable || agent === undefined) return void this.#skipped.set(session, through);
      this.#skipped.delete(session);
      const run = this.#run(agent, { session, agent: agent.name }).finally(() => {
        this.#active.delete(session);
        this.wake();
      });
      this.#active.set(session, run);
    } catch (error) {
      this.#delay(session);
      this.#report(`Session ${session}: cannot be read: ${textOfError(error)}`);
    }
  }

  async #run(agent: Agent, taken: WorkerSession): Promise<void> {
    const { session } = taken;
    const { observers, onResult } = this.#options;
    const leave = this.#leave.signal;
    try {
      const context = await this.#options.context?.(taken);
      let isForOther = false;
      // Another worker may have run the input that this worker found, so that the next input is for another agent.
      const accept = (loop: LoopState) => {
        isForOther = (agentOfWork(loop) ?? taken.agent) !== taken.agent;
        if (isForOther) throw wrongAgent(taken);
      };
      const options = { ...{ session, leave, observers, context, accept }, ...resumed };
      const result = await new LiveRun(settingsOf(agent), options).result;
      if (result.stop.cause === 'left' || isForOther) return;
      if (result.reason === 'error') this.#delay(session);
      else this.#delayed.delete(session);
      // If the cause is `held`, a different process runs the session, so this worker has no result to report.
      if (result.stop.cause !== 'held') onResult?.(result, taken);
    } catch (error) {
      this.#delay(session);
      this.#report(`Session ${session}: cannot be run: ${textOfError(error)}`);
    }
  }

  /**
   * Delays the next try of a session. The session may still have work, for example if a different process
   * holds its lease.
   */
  #delay(session: SessionId): void {
    const { baseDelayMs, maxDelayMs } = this.#options;
    const { failures = 0 } = this.#delayed.get(session) ?? {};
    const delayMs = Math.min(maxDelayMs, baseDelayMs * 2 ** failures);
    const notBefore = this.#clock.now() + delayMs * (0.5 + this.#random() / 2);
    this.#delayed.set(session, { failures: failures + 1, notBefore });
  }

  /** Removes the entries of sessions that have no work, which keeps the maps small. */
  #forgetUnlisted(listed: ReadonlySet<SessionId>): void {
    for (const known of [this.#skipped, this.#delayed])
      for (const session of known.keys())
        if (!listed.has(session) && !this.#active.has(session)) known.delete(session);
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }

  #report(problem: string): void {
    try {
      this.#options.onDiagnostic?.(problem);
    } catch {
      // The callback itself threw, so there is no way to report the problem.
    }
  }
}

function wrongAgent({ session, agent }: WorkerSession): AgentError {
  const message = `Cannot run session ${session} with agent ${agent}: it works for another agent`;
  return new AgentError('unknown_agent', message, { session, agent });
}

function otherLog(agent: string): AgentError {
  const message = `Cannot create a worker with agent ${agent}: it has another log. Pass the same log to createAgent and createWorker`;
  return new AgentError('bad_option', message, { of: 'createWorker', option: 'log', agent });
}

function badAgents(agents: readonly Agent[]): AgentError {
  const why = agents.length === 0 ? 'pass at least one agent' : 'each agent needs its own name';
  const message = `Cannot create a worker: ${why}`;
  return new AgentError('bad_option', message, { of: 'createWorker', option: 'agents' });
}

function badNumber(option: string, value: unknown): AgentError {
  const message = `Cannot use ${option} ${String(value)} of createWorker: it must be a number of at least 1`;
  return new AgentError('bad_option', message, { of: 'createWorker', option });
}

function unknownAgent(agent: string, names: readonly string[]): AgentError {
  const [near] = nearestNames(agent, names);
  const hint = near === undefined ? `It has ${names.join(', ')}` : `Did you mean ${near}?`;
  const message = `Cannot enqueue the input: the worker has no agent ${agent}. ${hint}`;
  return new AgentError('unknown_agent', message, { agent });
}
