import {
  addUsage,
  type ErrorInfo,
  type Fact,
  type LogRecord,
  noUsage,
  type SessionId,
  type Stop,
  type Usage,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { TaskDigest } from '../contract/inspection.ts';

/**
 * The number of sessions whose digest is cached. The next read of a cached digest starts where the last one
 * ended.
 */
const maxCached = 256;
/**
 * Maximum number of pages that one read loads. A longer session needs several reads. Until then, `isWhole`
 * is false.
 */
const maxPages = 32;
const pageBytes = 2 ** 20;

interface DigestResult {
  readonly state: DigestState;
  /** True if the digest includes the whole log. */
  readonly isWhole: boolean;
}

/** A digest and the incarnation of its session. */
interface CachedDigest {
  readonly incarnation: string | undefined;
  readonly state: DigestState;
}

/**
 * Digests of sessions, computed from their logs. They are only in memory, because they can always be
 * computed again.
 */
export class DigestCache {
  readonly #log: Log;
  /** The cached digests. The most recently used one is last. */
  readonly #states = new Map<SessionId, CachedDigest>();

  constructor(log: Log) {
    this.#log = log;
  }

  async read(session: SessionId): Promise<DigestResult> {
    const info = await this.#log.info(session);
    const cached = this.#states.get(session);
    const { incarnation, through = 0 } = info ?? {};
    // If the session was rewound, or deleted and created again, the cached digest is not used.
    let state = cached?.incarnation === incarnation ? (cached?.state ?? emptyDigest) : emptyDigest;
    for (let pages = 0; pages < maxPages && state.through < through; pages++) {
      const from = state.through;
      const page = await this.#log.read(session, { from, incarnation, maxBytes: pageBytes });
      if (page.through <= state.through) break;
      state = { ...foldDigest(state, page.records), through: page.through };
    }
    this.#remember(session, { incarnation, state });
    return { state, isWhole: state.through >= through };
  }

  #remember(session: SessionId, digest: CachedDigest): void {
    this.#states.delete(session);
    this.#states.set(session, digest);
    const [oldest] = this.#states.keys();
    if (this.#states.size > maxCached && oldest !== undefined) this.#states.delete(oldest);
  }
}

const cachesByLog = new WeakMap<Log, DigestCache>();

/** Returns the cache of a log. There is one cache per log. */
export function digestCacheFor(log: Log): DigestCache {
  const digests = cachesByLog.get(log) ?? new DigestCache(log);
  cachesByLog.set(log, digests);
  return digests;
}

/** Converts a digest to the fields of the response. */
export function digestReply({
  runSince,
  pendingApprovals,
  stop,
  error,
  through,
  usageByAttempt,
}: DigestState): Omit<TaskDigest, 'task_id' | 'agents' | 'is_whole'> {
  const ongoing = pendingApprovals.size > 0 ? 'waiting' : 'running';
  return {
    through,
    state: runSince === undefined && pendingApprovals.size === 0 ? 'idle' : ongoing,
    running_since: runSince ?? null,
    stop: stop ?? null,
    error: error ?? null,
    usage: usageByModel(usageByAttempt),
  };
}

function usageByModel(usageByAttempt: DigestState['usageByAttempt']): TaskDigest['usage'] {
  const byModel = Map.groupBy(usageByAttempt.values(), ({ provider, model }) =>
    JSON.stringify([provider, model]),
  );
  return [...byModel.values()].map((attempts) => {
    const reported = attempts.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
    const { costs, ...total } = reported.reduce(addUsage, noUsage);
    return {
      provider: attempts[0]?.provider ?? null,
      model: attempts[0]?.model ?? null,
      attempts: attempts.length,
      usage: { ...total, costs: [...costs] },
    };
  });
}

/** One attempt at a model request: the provider, the model and the usage. */
interface AttemptUsage {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
}

interface PendingApproval {
  readonly turn: number;
  /** The tool call that runs the sub-agent which asks. Undefined if no sub-agent asks. */
  readonly of: string | undefined;
}

/** The summary of a session. It contains no content of messages. */
interface DigestState {
  readonly through: number;
  readonly runSince: number | undefined;
  /** The tool calls and the questions of sub-agents that wait for an answer. */
  readonly pendingApprovals: ReadonlyMap<string, PendingApproval>;
  /** How the last finished run stopped. */
  readonly stop: Stop | undefined;
  /** The offset of the record with the end of the last run. 0 if no run has ended. */
  readonly stoppedAt: number;
  readonly error: ErrorInfo | undefined;
  /** The usage by turn and attempt. The last report of an attempt counts. */
  readonly usageByAttempt: ReadonlyMap<string, AttemptUsage>;
}

export const emptyDigest: DigestState = {
  through: 0,
  runSince: undefined,
  pendingApprovals: new Map(),
  stop: undefined,
  stoppedAt: 0,
  error: undefined,
  usageByAttempt: new Map(),
};

/**
 * Adds records to a digest and returns the new digest. Deltas are skipped, so a long answer costs only the
 * time to read it.
 */
export function foldDigest(before: DigestState, records: readonly LogRecord[]): DigestState {
  const usageByAttempt = new Map(before.usageByAttempt);
  let state: DigestState = { ...before, usageByAttempt };
  for (const record of records) {
    if (record.fact === undefined) continue;
    addUsageFact(usageByAttempt, record, record.fact);
    state = foldFact(state, record, record.fact);
  }
  return state;
}

function addUsageFact(
  usageByAttempt: Map<string, AttemptUsage>,
  { turn, attempt }: LogRecord,
  fact: Fact,
): void {
  const key = `${turn}.${attempt}`;
  const before = usageByAttempt.get(key) ?? {
    provider: undefined,
    model: undefined,
    usage: undefined,
  };
  if (fact.type === 'response_started') {
    usageByAttempt.set(key, { ...before, provider: fact.provider, model: fact.model });
  } else if (fact.type === 'child_usage_reported') {
    const { of, usage } = fact;
    const { provider, model } = of;
    usageByAttempt.set(`${of.turn}.${of.attempt} ${of.session}`, { provider, model, usage });
  } else if (fact.type === 'response_finished' || fact.type === 'usage_reported') {
    usageByAttempt.set(key, { ...before, usage: fact.usage });
  }
}

function foldFact(state: DigestState, record: LogRecord, fact: Fact): DigestState {
  switch (fact.type) {
    case 'run_started':
      return { ...state, runSince: record.time, stop: undefined, error: undefined };
    case 'run_finished':
      return { ...state, runSince: undefined, stop: fact.stop, stoppedAt: record.offset };
    case 'error_reported':
      return { ...state, error: fact.error };
    case 'approval_asked':
      return {
        ...state,
        pendingApprovals: new Map(state.pendingApprovals).set(fact.toolCallId, {
          turn: record.turn,
          of: fact.from?.toolCallId,
        }),
      };
    case 'approval_answered':
    case 'tool_execution_started':
      return withoutApprovals(state, ([id]) => id === fact.toolCallId);
    case 'tool_call_rejected':
      return withoutApprovals(
        state,
        ([id, { of }]) => id === fact.toolCallId || of === fact.toolCallId,
      );
    case 'tool_execution_finished': {
      // A sub-agent that is parked, or whose process died, still waits for its answers.
      const isOpen = fact.outcome === 'parked' || fact.outcome === 'lost';
      return isOpen ? state : withoutApprovals(state, ([, { of }]) => of === fact.toolCallId);
    }
    case 'turn_finished':
      return withoutApprovals(state, ([, { turn }]) => turn === record.turn);
    default:
      return state;
  }
}

function withoutApprovals(
  state: DigestState,
  isResolved: (pendingApprovals: readonly [string, PendingApproval]) => boolean,
): DigestState {
  if (![...state.pendingApprovals].some(isResolved)) return state;
  return {
    ...state,
    pendingApprovals: new Map(
      [...state.pendingApprovals].filter((pendingApprovals) => !isResolved(pendingApprovals)),
    ),
  };
}
