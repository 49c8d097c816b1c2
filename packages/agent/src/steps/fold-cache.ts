import {
  emptyState,
  type FoldState,
  findItem,
  type ItemId,
  type OnStep,
  type RunId,
  type SessionId,
  type Stop,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { emptyLoopState, type LoopState } from '../contract/loop-state.ts';

/** The state of a session, up to the last record that this process has read. */
export interface CachedFold {
  readonly state: FoldState;
  readonly loop: LoopState;
  /** The state of the session before its last run. */
  readonly before: FoldState;
  /** The runs that ended most recently, newest last. */
  readonly ended: readonly FinishedRun[];
}

/**
 * Maximum number of ended runs that are kept. A repeated step can find its run if at most this many runs have
 * ended after it.
 */
const maxEnded = 16;

/** Maximum number of cached sessions. The least recently used session is removed first. */
const maxKept = 64;

/**
 * The cached states of each log, by the incarnation of the session. The session id is not the key, because a
 * new session may get the same id after a deletion.
 */
const caches = new WeakMap<Log, Map<string, CachedFold>>();

/**
 * Returns the cached state of a session, so that a step does not have to read the session from the start.
 * Returns the empty state if there is no usable cache entry.
 */
export async function readCachedFold(log: Log, session: SessionId): Promise<CachedFold> {
  const info = await log.info(session);
  const known = info && caches.get(log)?.get(info.incarnation);
  if (known !== undefined && known.state.through <= (info?.through ?? 0)) return known;
  const state = emptyState(session);
  return { state, loop: emptyLoopState, before: state, ended: [] };
}

export async function cacheFold(log: Log, session: SessionId, fold: CachedFold): Promise<void> {
  const info = await log.info(session);
  if (info === undefined) return;
  const folds = caches.get(log) ?? new Map<string, CachedFold>();
  caches.set(log, folds);
  const { incarnation } = info;
  const known = folds.get(incarnation);
  folds.delete(incarnation);
  // Concurrent steps can end in any order, so only the newest state is kept.
  const isLater = known === undefined || known.state.through <= fold.state.through;
  folds.set(incarnation, isLater ? fold : known);
  for (const oldest of folds.keys()) {
    if (folds.size <= maxKept) break;
    folds.delete(oldest);
  }
}

/**
 * Tracks the state before each run, and how each run ended. The session state itself does not contain this
 * information.
 */
export class RunTracker {
  #before: FoldState;
  #ended: readonly FinishedRun[];

  constructor({ before, ended }: Pick<CachedFold, 'before' | 'ended'>) {
    this.#before = before;
    this.#ended = ended;
  }

  get before(): FoldState {
    return this.#before;
  }

  get ended(): readonly FinishedRun[] {
    return this.#ended;
  }

  /** Returns the finished run with this id, if it is still stored. */
  findFinished(runId: RunId): FinishedRun | undefined {
    return this.#ended.findLast(({ id }) => id === runId);
  }

  readonly onStep: OnStep = (before, { fact }, after) => {
    if (fact?.type === 'run_started') this.#before = before;
    if (fact?.type === 'item_redacted') this.#forget(fact.itemId, after);
    if (fact?.type !== 'run_finished') return;
    const ended = { id: fact.runId, stop: fact.stop, before: this.#before, after };
    this.#ended = [...this.#ended, ended].slice(-maxEnded);
  };

  /**
   * Replaces the stored states of runs that contain a redacted item, because redacted content must not be
   * reported again.
   */
  #forget(itemId: ItemId, now: FoldState): void {
    this.#ended = this.#ended.map((run) =>
      findItem(run.after, itemId) === undefined ? run : { ...run, before: now, after: now },
    );
  }
}

/** A finished run, with its stop and the session states before and after it. */
export interface FinishedRun {
  readonly id: RunId;
  readonly stop: Stop;
  readonly before: FoldState;
  readonly after: FoldState;
}
