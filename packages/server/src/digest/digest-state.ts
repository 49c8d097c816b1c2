import type { ErrorInfo, Fact, LogRecord, Stop, Usage } from '@millrace/core';

/** One try at a request: who answered, and what it used. */
interface AttemptUse {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
}

/** What a session came to so far. Holds no content. */
export interface DigestState {
  readonly through: number;
  readonly runSince: number | undefined;
  /** Calls that wait for somebody's word, each with its turn. */
  readonly asked: ReadonlyMap<string, number>;
  /** Of the last run that ended. */
  readonly stop: Stop | undefined;
  readonly error: ErrorInfo | undefined;
  /** By turn and attempt: the last word on an attempt counts. */
  readonly uses: ReadonlyMap<string, AttemptUse>;
}

export const emptyDigest: DigestState = {
  through: 0,
  runSince: undefined,
  asked: new Map(),
  stop: undefined,
  error: undefined,
  uses: new Map(),
};

/** Deltas say nothing here, so that a long answer costs nothing but its reading. */
export function foldDigest(before: DigestState, records: readonly LogRecord[]): DigestState {
  const uses = new Map(before.uses);
  let state: DigestState = { ...before, uses };
  for (const record of records) {
    if (record.fact === undefined) continue;
    addUse(uses, record, record.fact);
    state = foldFact(state, record, record.fact);
  }
  return state;
}

function addUse(uses: Map<string, AttemptUse>, { turn, attempt }: LogRecord, fact: Fact): void {
  const key = `${turn}.${attempt}`;
  const known = uses.get(key) ?? { provider: undefined, model: undefined, usage: undefined };
  if (fact.type === 'response_started') {
    uses.set(key, { ...known, provider: fact.provider, model: fact.model });
  } else if (fact.type === 'response_finished' || fact.type === 'usage_reported') {
    uses.set(key, { ...known, usage: fact.usage });
  }
}

function foldFact(state: DigestState, record: LogRecord, fact: Fact): DigestState {
  switch (fact.type) {
    case 'run_started':
      return { ...state, runSince: record.time, stop: undefined, error: undefined };
    case 'run_finished':
      return { ...state, runSince: undefined, stop: fact.stop };
    case 'error_reported':
      return { ...state, error: fact.error };
    case 'approval_asked':
      return { ...state, asked: new Map(state.asked).set(fact.toolCallId, record.turn) };
    case 'approval_answered':
    case 'tool_call_rejected':
    case 'tool_execution_started':
      return withoutAsked(state, ([id]) => id === fact.toolCallId);
    case 'turn_finished':
      return withoutAsked(state, ([, turn]) => turn === record.turn);
    default:
      return state;
  }
}

function withoutAsked(
  state: DigestState,
  isOver: (asked: readonly [string, number]) => boolean,
): DigestState {
  if (![...state.asked].some(isOver)) return state;
  return { ...state, asked: new Map([...state.asked].filter((asked) => !isOver(asked))) };
}
