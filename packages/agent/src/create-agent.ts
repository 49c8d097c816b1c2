import { type Ids, type LogRecord, randomIds, type SessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type Clock, type Provider, systemClock } from '@millrace/providers';
import { type Compaction, summaryPrompt } from './context/compaction.ts';
import type { ContextFilter } from './context/drop-parts.ts';
import { AgentError } from './errors/agent-error.ts';
import type { Observer } from './observers/observer.ts';
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

export interface AgentOptions {
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
}

export interface Agent {
  /** Answers. One agent serves many runs at once, of one session one at a time. */
  run(input: RunInput, options?: AgentRunOptions): Run;
  /** Goes on with a session: what was cut short, what waits in its queue, what was approved meanwhile. */
  resume(session: SessionId, options?: Omit<AgentRunOptions, 'session'>): Run;
}

const compaction = { keepSteps: 6, summarize: summaryPrompt };

const limits: Limits = {
  maxTurns: 100,
  maxTokens: Number.POSITIVE_INFINITY,
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
export function createAgent(options: AgentOptions): Agent {
  const settings = settingsOf(options);
  const start = (
    session: SessionId,
    input: RunInput | undefined,
    { signal }: AgentRunOptions,
  ): Run => new LiveRun(settings, { session, input, signal });
  return {
    run: (input, own = {}) => start(own.session ?? settings.ids.session(), input, own),
    resume: (session, own = {}) => start(session, undefined, own),
  };
}

function settingsOf(options: AgentOptions): Settings {
  const { provider, fallbacks = [], tools = [], log = memoryLog() } = options;
  return {
    name: options.name ?? 'agent',
    providers: [provider, ...fallbacks],
    tools: byName(tools),
    instructions: options.instructions,
    request: options.request ?? {},
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
    onDiagnostic: options.onDiagnostic ?? (() => {}),
  };
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
