import {
  addUsage,
  type ErrorInfo,
  type Fact,
  type LogRecord,
  noUsage,
  type Stop,
  type Usage,
} from '@millrace/core';
import type { TaskDigest } from '../contract/inspection.ts';
import { foldCacheFor } from './fold-cache.ts';

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

/** The provider, the model and the token usage of one attempt. */
interface AttemptUsage {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
}

interface PendingApproval {
  readonly turn: number;
  /**
   * The tool call that runs the sub-agent with this question. Undefined if the question does not come from a
   * sub-agent.
   */
  readonly of: string | undefined;
}

/** The summary of a session. It contains no content of messages. */
interface DigestState {
  readonly through: number;
  readonly runSince: number | undefined;
  /** The tool calls and the sub-agents' questions that wait for an answer. */
  readonly pendingApprovals: ReadonlyMap<string, PendingApproval>;
  /** The reason why the last finished run stopped. */
  readonly stop: Stop | undefined;
  /** The offset of the record that ended the last run. 0 if no run has ended. */
  readonly stoppedAt: number;
  readonly error: ErrorInfo | undefined;
  /** The usage by turn and attempt. Only the last report of an attempt counts. */
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

/** Adds records to a digest and returns the new digest. It skips deltas, so long answers need little time. */
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
      // A sub-agent that is parked, or whose process crashed, still waits for answers to its questions.
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

/** Returns the cached digests of a log. */
export const digestCacheFor = foldCacheFor({ empty: emptyDigest, fold: foldDigest });
