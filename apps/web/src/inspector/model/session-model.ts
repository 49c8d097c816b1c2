import {
  emptyState,
  type FactRecord,
  type Folded,
  type FoldState,
  foldBatch,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import { MetricsCollector } from './metrics.ts';
import { partitionPoint } from './record-index.ts';
import { TimeAxis } from './time-axis.ts';
import { Waterfall } from './waterfall.ts';

/** The data that the inspector shows, computed from the records of a session. */
export class SessionModel {
  readonly checkpoints: Checkpoints;
  readonly axis = new TimeAxis();
  readonly waterfall = new Waterfall();
  readonly metrics = new MetricsCollector();
  readonly #facts: FactRecord[] = [];

  constructor(session: SessionId) {
    this.checkpoints = new Checkpoints(session);
  }

  get records(): readonly LogRecord[] {
    return this.checkpoints.records;
  }

  /** Returns the facts up to an offset. */
  factsUpTo(offset: number): readonly FactRecord[] {
    return this.#facts.slice(0, countUpTo(this.#facts, offset));
  }

  add(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.checkpoints.add(record);
      if (record.fact !== undefined) this.#facts.push(record);
      this.axis.add(record.time);
      this.waterfall.add(record);
      this.metrics.add(record);
    }
  }
}

interface CheckpointOptions {
  /**
   * The number of records between two stored states. It limits the time to compute an earlier
   * state. Default: 256.
   */
  readonly interval?: number;
  /** The fold function. Default: `foldBatch`. Tests pass a function that counts its calls. */
  readonly fold?: typeof foldBatch;
}

/**
 * Computes the state of a session at any record. It stores some states. That is cheap, because
 * states share their structure.
 */
export class Checkpoints {
  readonly records: LogRecord[] = [];
  readonly #interval: number;
  readonly #fold: typeof foldBatch;
  /** The stored states. Entry k is the state after k intervals. */
  readonly #states: FoldState[];
  #head: FoldState;
  /** The state that was requested last. The next request is usually for a slightly later state. */
  #last: { readonly count: number; readonly state: FoldState };

  constructor(session: SessionId, { interval = 256, fold = foldBatch }: CheckpointOptions = {}) {
    this.#interval = interval;
    this.#fold = fold;
    this.#head = emptyState(session);
    this.#states = [this.#head];
    this.#last = { count: 0, state: this.#head };
  }

  /** The state after all records. */
  get head(): FoldState {
    return this.#head;
  }

  add(record: LogRecord): void {
    this.records.push(record);
    this.#head = this.#step(this.#head, record);
    if (this.records.length % this.#interval === 0) this.#states.push(this.#head);
  }

  /** Returns the state right after this record. */
  stateAt(offset: number): FoldState {
    const count = countUpTo(this.records, offset);
    if (count === this.records.length) return this.#head;
    const states = Math.floor(count / this.#interval);
    const start = { count: states * this.#interval, state: this.#states[states] ?? this.#head };
    const isNearer = this.#last.count >= start.count && this.#last.count <= count;
    const from = isNearer ? this.#last : start;
    const state = this.records.slice(from.count, count).reduce(this.#step, from.state);
    this.#last = { count, state };
    return state;
  }

  /**
   * Folds one record. An invalid record has no effect, so that the records around it stay visible.
   */
  readonly #step = (state: FoldState, record: LogRecord): FoldState => {
    const batch = { after: state.through, through: record.offset, records: [record] };
    const folded: Folded = this.#fold(state, batch);
    return folded.state;
  };
}

/**
 * Returns the number of records up to an offset. Settled turns leave gaps between offsets, so the
 * number can be smaller than the offset.
 */
export function countUpTo(records: readonly LogRecord[], offset: number): number {
  return partitionPoint(records.length, (index) => (records[index]?.offset ?? 0) <= offset);
}
