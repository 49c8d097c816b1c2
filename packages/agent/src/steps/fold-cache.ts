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

/** What a session came to, as far as this process has read it. */
export interface CachedFold {
  readonly state: FoldState;
  readonly loop: LoopState;
  /** The session as its last run found it. */
  readonly before: FoldState;
  /** The runs that ended last, the latest at the end. */
  readonly ended: readonly FinishedRun[];
}

/** Whoever does a step again finds his run also where others had theirs since, if they were not many. */
const maxEnded = 16;

/** So many sessions are kept folded; the one that was used longest ago goes first. */
const maxKept = 64;

const caches = new WeakMap<Log, Map<string, CachedFold>>();

/** What is known of a session here, so that a step need not read it from its start. */
export async function readCachedFold(log: Log, session: SessionId): Promise<CachedFold> {
  const info = await log.info(session);
  const known = info && caches.get(log)?.get(cacheKey(session, info.createdAt));
  if (known !== undefined && known.state.through <= (info?.through ?? 0)) return known;
  const state = emptyState(session);
  return { state, loop: emptyLoopState, before: state, ended: [] };
}

export async function cacheFold(log: Log, session: SessionId, fold: CachedFold): Promise<void> {
  const info = await log.info(session);
  if (info === undefined) return;
  const folds = caches.get(log) ?? new Map<string, CachedFold>();
  caches.set(log, folds);
  const name = cacheKey(session, info.createdAt);
  const known = folds.get(name);
  folds.delete(name);
  // Steps that run side by side end in any order.
  const isLater = known === undefined || known.state.through <= fold.state.through;
  folds.set(name, isLater ? fold : known);
  for (const oldest of folds.keys()) {
    if (folds.size <= maxKept) break;
    folds.delete(oldest);
  }
}

/** A name may be used again, for another session. */
function cacheKey(session: SessionId, createdAt: number): string {
  return `${createdAt} ${session}`;
}

/** Follows what is folded, for what the fold itself does not keep: where runs began, and how they ended. */
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

  /** How this run ended, where it did. */
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

  /** What was taken out of the log is not told by whoever looks back. */
  #forget(itemId: ItemId, now: FoldState): void {
    this.#ended = this.#ended.map((run) =>
      findItem(run.after, itemId) === undefined ? run : { ...run, before: now, after: now },
    );
  }
}

/** A run that is over, how it ended, and the session as it found it and as it left it. */
export interface FinishedRun {
  readonly id: RunId;
  readonly stop: Stop;
  readonly before: FoldState;
  readonly after: FoldState;
}
