import {
  type Ids,
  type ItemId,
  type LogRecord,
  randomIds,
  type SessionId,
  type TraceContext,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type Clock, type Provider, systemClock } from '@millrace/providers';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { checkLimits } from './check-limits.ts';
import { type Compaction, summaryPrompt } from './context/compaction.ts';
import type { ContextFilter } from './context/drop-parts.ts';
import { AgentError } from './errors/agent-error.ts';
import { forkBefore } from './fork/fork-before.ts';
import { readRecords } from './journal/read-records.ts';
import type { Observer } from './observers/observer.ts';
import { outputOf } from './output/output.ts';
import { type Replayed, type ReplayOptions, replay } from './replay/replay.ts';
import { keepSettings } from './run/agent-settings.ts';
import { LiveRun } from './run/live-run.ts';
import type { Run, RunInput } from './run/run.ts';
import type {
  ApprovalDecision,
  Instructions,
  Limits,
  PendingCall,
  RequestOptions,
  RetrySettings,
  Settings,
} from './run/settings.ts';
import type { Tool } from './tool/tool.ts';

export interface AgentOptions<Output extends StandardSchemaV1 = StandardSchemaV1> {
  readonly provider: Provider;
  /** Asked in this order when the first one fails. */
  readonly fallbacks?: readonly Provider[] | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly instructions?: Instructions;
  /** Shown to whoever finds a session held. */
  readonly name?: string | undefined;
  /** Where sessions are kept; in memory unless told. */
  readonly log?: Log | undefined;
  readonly observers?: readonly Observer[] | undefined;
  /** May a call run? All may, unless told. */
  readonly approve?:
    | ((call: PendingCall) => ApprovalDecision | Promise<ApprovalDecision>)
    | undefined;
  readonly whileAsking?: Settings['whileAsking'] | undefined;
  readonly request?: RequestOptions | undefined;
  /** What answers have to be like: any Standard Schema. The result has the `value`. */
  readonly output?: Output | undefined;
  /** Makes what is sent shorter when it gets long; never, unless told when. */
  readonly compaction?: (Pick<Compaction, 'whenTokens'> & Partial<Compaction>) | undefined;
  /** What is left out of what is sent, each time: `dropReasoning()`, `dropFailedResults()` … */
  readonly contextFilters?: readonly ContextFilter[] | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly retry?: Partial<RetrySettings> | undefined;
  readonly onInterrupted?: Settings['onInterrupted'] | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  readonly random?: (() => number) | undefined;
  /** Hears what is wrong and changes nothing: an observer that throws, for instance. */
  readonly onDiagnostic?: ((problem: string, record?: LogRecord) => void) | undefined;
}

export interface AgentRunOptions {
  /** A new one unless told. */
  readonly session?: SessionId | undefined;
  /** Aborts the run. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Leaves the run as a process that dies would, but for its lease, which is given back: nothing more is
   * written, and whoever resumes the session goes on. The result's stop has the cause `left`.
   */
  readonly leave?: AbortSignal | undefined;
  /**
   * What the run is part of, as `traceContext(headers…)` reads it. It is on the log with the run, and
   * goes to observers, to tools as `ctx.trace` and to providers; a run that goes on keeps its own.
   */
  readonly trace?: TraceContext | undefined;
  /** Hear of this run and of its sub-agents' for it, besides those of each agent. */
  readonly observers?: readonly Observer[] | undefined;
}

export interface ForkedRunOptions {
  /** The fork; a new one unless told. */
  readonly into?: SessionId | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly leave?: AbortSignal | undefined;
  readonly trace?: TraceContext | undefined;
  readonly observers?: readonly Observer[] | undefined;
}

export interface Agent<Value = unknown> {
  readonly name: string;
  /** Answers. One agent serves many runs at once, of one session one at a time. */
  run(input: RunInput, options?: AgentRunOptions): Run<Value>;
  /** Goes on with a session: what was cut short, what waits in its queue, what was approved meanwhile. */
  resume(session: SessionId, options?: Omit<AgentRunOptions, 'session'>): Run<Value>;
  /** Answers again, in a fork: all after the last thing that was said to it, or from one of its items on. */
  regenerate(
    session: SessionId,
    options?: ForkedRunOptions & { readonly item?: ItemId },
  ): Run<Value>;
  /** Answers something else than what was said there, in a fork. */
  edit(session: SessionId, item: ItemId, input: RunInput, options?: ForkedRunOptions): Run<Value>;
  /**
   * Runs a recorded session again, by the same loop: what models, tools and people said and decided is
   * taken from the recording, and so are times and ids. Nothing is executed and nothing is sent. Says
   * where this agent would do something else.
   */
  replay(session: SessionId, options?: ReplayOptions): Promise<Replayed>;
}

const compaction = { keepSteps: 6, summarize: summaryPrompt };

const limits: Limits = {
  maxTurns: 100,
  maxTokens: Number.POSITIVE_INFINITY,
  maxCost: undefined,
  maxParallelTools: 8,
  maxRepeats: 5,
};

const retry: RetrySettings = {
  maxAttempts: 4,
  baseDelayMs: 1000,
  maxDelayMs: 60_000,
  toolGraceMs: 5000,
};

/**
 * @example
 * const agent = createAgent({ provider: anthropic({ model: 'claude-sonnet-5' }), tools: [now] });
 * const { text } = await agent.run('What time is it?').result;
 */
export function createAgent<Output extends StandardSchemaV1 = StandardSchemaV1>(
  options: AgentOptions<Output>,
): Agent<StandardSchemaV1.InferOutput<Output>> {
  const settings = settingsFrom(options);
  const { log, ids } = settings;
  const startFork = (
    { into = ids.session(), signal, leave, trace, observers }: ForkedRunOptions,
    input: RunInput | undefined,
    fork: (into: SessionId) => Promise<unknown>,
  ): Run => {
    const prepare = () => fork(into);
    const own = { signal, leave, trace, observers };
    return new LiveRun(settings, { ...own, session: into, input, joins: true, prepare });
  };
  const agent: Agent = {
    name: settings.name,
    run: (input, { session = ids.session(), ...own } = {}) =>
      new LiveRun(settings, { ...own, session, input, signal: own.signal }),
    resume: (session, own = {}) => {
      const prepare = () => assertThere(log, session);
      const { signal } = own;
      return new LiveRun(settings, { ...own, session, input: undefined, signal, prepare });
    },
    regenerate: (session, own = {}) =>
      startFork(own, undefined, (into) => forkBefore(log, session, { into, item: own.item })),
    edit: (session, item, input, own = {}) =>
      startFork(own, input, (into) => forkBefore(log, session, { into, item })),
    replay: async (session, own = {}) =>
      replay(settings, session, await readRecords(log, session), own),
  };
  keepSettings(agent, settings);
  return agent as Agent<StandardSchemaV1.InferOutput<Output>>;
}

function settingsFrom(options: AgentOptions): Settings {
  const { provider, fallbacks = [], tools = [], log = memoryLog() } = options;
  checkLimits({ ...limits, ...options.limits }, { ...retry, ...options.retry });
  return {
    name: options.name ?? 'agent',
    providers: [provider, ...fallbacks],
    tools: byName(tools),
    instructions: options.instructions,
    request: options.request ?? {},
    output: outputOf(options.output),
    log,
    observers: options.observers ?? [],
    approve: options.approve ?? (() => 'allow'),
    whileAsking: options.whileAsking ?? 'wait',
    compaction: options.compaction && { ...compaction, ...options.compaction },
    contextFilters: options.contextFilters ?? [],
    limits: { ...limits, ...options.limits },
    retry: { ...retry, ...options.retry },
    onInterrupted: options.onInterrupted ?? 'keep',
    clock: options.clock ?? systemClock,
    ids: options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes)),
    random: options.random ?? Math.random,
    onDiagnostic: quietly(options.onDiagnostic),
  };
}

/** Whoever hears of problems makes none. */
function quietly(hear: AgentOptions['onDiagnostic']): Settings['onDiagnostic'] {
  return (...problem) => {
    try {
      hear?.(...problem);
    } catch {
      // Nobody is left to tell.
    }
  };
}

async function assertThere(log: Log, session: SessionId): Promise<void> {
  if ((await log.info(session)) !== undefined) return;
  const message = `Cannot resume session ${session}: there is none. Run it with something to say`;
  throw new AgentError('no_such_session', message, { session });
}

function byName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const named = new Map<string, Tool>();
  for (const tool of tools) {
    if (named.has(tool.name)) throw taken(tool.name);
    named.set(tool.name, tool);
  }
  return named;
}

function taken(name: string): AgentError {
  const message = `Cannot use two tools of the name ${name}. Rename one`;
  return new AgentError('name_taken', message, { tool: name });
}
