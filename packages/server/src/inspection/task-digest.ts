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

/** Of so many sessions what was read is kept, so that the next look reads only what came since. */
const maxKept = 256;
/** So much is read for one look; a longer session takes several, and says that it is not whole yet. */
const maxPages = 32;
const pageBytes = 2 ** 20;

interface Digested {
  readonly state: DigestState;
  /** All that the log has is in it. */
  readonly isWhole: boolean;
}

/** What sessions came to, read from their logs and never stored: it cannot disagree with them. */
export class Digests {
  readonly #log: Log;
  /** The one that was looked at last is at the end. */
  readonly #kept = new Map<SessionId, DigestState>();

  constructor(log: Log) {
    this.#log = log;
  }

  async of(session: SessionId): Promise<Digested> {
    const info = await this.#log.info(session);
    const kept = this.#kept.get(session);
    // A session that was deleted and made again is shorter than what is known of it.
    const isKnown = kept !== undefined && kept.through <= (info?.through ?? 0);
    let state = isKnown ? kept : emptyDigest;
    const through = info?.through ?? 0;
    for (let pages = 0; pages < maxPages && state.through < through; pages++) {
      const page = await this.#log.read(session, { from: state.through, maxBytes: pageBytes });
      if (page.through <= state.through) break;
      state = { ...foldDigest(state, page.records), through: page.through };
    }
    this.#keep(session, state);
    return { state, isWhole: state.through >= through };
  }

  #keep(session: SessionId, state: DigestState): void {
    this.#kept.delete(session);
    this.#kept.set(session, state);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}

const known = new WeakMap<Log, Digests>();

/** One for each log, whoever asks. */
export function digestsOf(log: Log): Digests {
  const digests = known.get(log) ?? new Digests(log);
  known.set(log, digests);
  return digests;
}

/** What a session came to, in the words of the wire. */
export function digestReply({
  runSince,
  asked,
  stop,
  error,
  through,
  uses,
}: DigestState): Omit<TaskDigest, 'task_id' | 'agents' | 'is_whole'> {
  const ongoing = asked.size > 0 ? 'waiting' : 'running';
  return {
    through,
    state: runSince === undefined && asked.size === 0 ? 'idle' : ongoing,
    running_since: runSince ?? null,
    stop: stop ?? null,
    error: error ?? null,
    usage: usageByModel(uses),
  };
}

function usageByModel(uses: DigestState['uses']): TaskDigest['usage'] {
  const byModel = Map.groupBy(uses.values(), ({ provider, model }) =>
    JSON.stringify([provider, model]),
  );
  return [...byModel.values()].map((all) => {
    const reported = all.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
    const { costs, ...total } = reported.reduce(addUsage, noUsage);
    return {
      provider: all[0]?.provider ?? null,
      model: all[0]?.model ?? null,
      attempts: all.length,
      usage: { ...total, costs: [...costs] },
    };
  });
}

/** One try at a request: who answered, and what it used. */
interface AttemptUse {
  readonly provider: string | undefined;
  readonly model: string | undefined;
  readonly usage: Usage | undefined;
}

/** What a session came to so far. Holds no content. */
interface DigestState {
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
