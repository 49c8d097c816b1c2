import { emptyState, type FoldState, type SessionId } from '@millrace/core';
import { findRunEnd, type Log, stateAfterRun } from '@millrace/log';
import { foldWhole } from './history.ts';

/** If a known state is at most this many records before an offset, the search stops with this state. */
const nearRecords = 256;
const maxStates = 64;

interface KnownState {
  readonly state: FoldState;
  /** True if no turn is open at this state. */
  readonly isTurnOver: boolean;
}

/** The session that the feed reads, with its log and incarnation. */
export interface ReadSession {
  readonly log: Log;
  readonly session: SessionId;
  readonly incarnation: string;
}

/**
 * Finds states from before the feed was opened, for clients that resume there or read from the start. The
 * required time depends on the length of a run, and not on the length of the session.
 */
export class PastStates {
  readonly #source: ReadSession;
  /** The known states. The most recently added state is the last entry. */
  #states: KnownState[] = [];
  /** Changes when the states are forgotten. A state that was read before must not be remembered after it. */
  version = 0;

  constructor(source: ReadSession) {
    this.#source = source;
  }

  /** Adds a state. The next client that reads from this offset reuses it. */
  remember(state: FoldState, { isTurnOver }: Pick<KnownState, 'isTurnOver'>): void {
    const others = this.#states.filter((known) => known.state.through !== state.through);
    this.#states = [...others, { state, isTurnOver }];
    if (this.#states.length > maxStates) this.#states.shift();
  }

  forget(): void {
    this.version += 1;
    this.#states = [];
  }

  /**
   * Returns a state that is not after the offset. It contains the items of the run at the offset, and may
   * omit items of earlier runs. With `isTurnOver`, no turn is open in the returned state.
   */
  async before(offset: number, { isTurnOver = false } = {}): Promise<FoldState> {
    const { session } = this.#source;
    let nearest = emptyState(session);
    for (const known of this.#states) {
      const { through } = known.state;
      const isUsable = known.isTurnOver || !isTurnOver;
      if (isUsable && through <= offset && through > nearest.through) nearest = known.state;
    }
    if (offset - nearest.through <= nearRecords) return nearest;
    const { log, incarnation } = this.#source;
    const range = { from: nearest.through, through: offset, incarnation };
    const found = await findRunEnd(log, session, range);
    if (found === undefined) return nearest;
    const state = stateAfterRun(session, found);
    this.remember(state, { isTurnOver: true });
    return state;
  }

  /** Returns the state at an offset, with all items. */
  whole(through: number): Promise<FoldState> {
    const { log, session, incarnation } = this.#source;
    return foldWhole(log, session, { through, incarnation });
  }
}
