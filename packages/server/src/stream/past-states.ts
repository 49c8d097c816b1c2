import { emptyState, type FoldState, type LogRecord, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { foldWhole } from './history.ts';
import { stateAfterRun } from './run-folder.ts';

/** If a known state is at most this many records before an offset, no later state is searched. */
const nearRecords = 256;
/** The number of records that are read first to find the end of a run. If there is none, more are read. */
const firstSearch = 256;
const maxStates = 64;

interface KnownState {
  readonly state: FoldState;
  /** True if no turn is open. */
  readonly isTurnOver: boolean;
}

/** A session, as the feed reads it. */
export interface ReadSession {
  readonly log: Log;
  readonly session: SessionId;
  readonly incarnation: string;
}

/**
 * Finds states from before the feed was opened, for clients that resume there or read from the start. The
 * costs depend on the length of a run, not on the length of the session.
 */
export class PastStates {
  readonly #source: ReadSession;
  /** Known states. The state that was added last is at the end. */
  #states: KnownState[] = [];

  constructor(source: ReadSession) {
    this.#source = source;
  }

  /** Adds a state, for the next client that reads from there. */
  remember(state: FoldState, { isTurnOver }: Pick<KnownState, 'isTurnOver'>): void {
    const others = this.#states.filter((known) => known.state.through !== state.through);
    this.#states = [...others, { state, isTurnOver }];
    if (this.#states.length > maxStates) this.#states.shift();
  }

  forget(): void {
    this.#states = [];
  }

  /**
   * Returns a state at or before an offset. It contains the items of the run at the offset, and may lack
   * items of earlier runs. With `isTurnOver`, it is a state in which no turn is open.
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
    const found = await this.#findRunEnd(nearest.through, offset);
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

  /**
   * Finds the last offset in a range at which a run ended and left nothing open. It reads a few records
   * before the end of the range, then four times as many, until it finds such an offset.
   */
  async #findRunEnd(start: number, end: number): Promise<number | undefined> {
    for (let length = firstSearch; ; length *= 4) {
      const from = Math.max(start, end - length);
      const found = await this.#lastRunEnd(from, end);
      if (found !== undefined || from === start) return found;
    }
  }

  async #lastRunEnd(from: number, end: number): Promise<number | undefined> {
    const { log, session, incarnation } = this.#source;
    const runs = new RunEnds();
    for (let cursor = from; cursor < end; ) {
      const page = await log.read(session, { from: cursor, incarnation });
      for (const record of page.records) if (record.offset <= end) runs.add(record);
      if (page.through <= cursor) break;
      cursor = page.through;
    }
    return runs.last;
  }
}

/** Reads records in order and finds the ends of runs that left nothing open. */
class RunEnds {
  /** The last end of a run. Undefined if there is none. */
  last: number | undefined;
  #run: string | undefined;
  /** The turns of the current run that are not finished. */
  readonly #openTurns = new Set<number>();

  add({ fact, turn, offset }: LogRecord): void {
    if (fact?.type === 'run_started') {
      this.#run = fact.runId;
      this.#openTurns.clear();
    }
    if (turn > 0) this.#openTurns.add(turn);
    if (fact?.type === 'turn_finished') this.#openTurns.delete(turn);
    if (fact?.type !== 'run_finished') return;
    const isOver = fact.runId === this.#run && fact.stop.reason !== 'parked';
    if (isOver && this.#openTurns.size === 0) this.last = offset;
    this.#run = undefined;
  }
}
