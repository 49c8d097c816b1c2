import {
  cutSequence,
  emptyState,
  type FactRecord,
  type Folded,
  type FoldState,
  foldBatch,
  type LogRecord,
  type SessionId,
} from '@millrace/core';
import { SpanFold } from '@millrace/core/spans';
import { MetricsCollector } from './metrics.ts';
import { partitionPoint } from './record-index.ts';
import { TimeAxis } from './time-axis.ts';

interface SessionModelOptions {
  /** The offset after which the records start. Default: 0, the start of the log. */
  readonly after?: number;
  /** False if a run was open before the first record. Default: true. */
  readonly isRunStart?: boolean;
}

/**
 * The data that the inspector shows. It is computed from all records of a session, or from a window
 * of them.
 */
export class SessionModel {
  /** The offset after which the records start. */
  readonly after: number;
  /**
   * True if the state of the session can be computed, because no run was open before the
   * first record.
   */
  readonly hasStates: boolean;
  readonly checkpoints: Checkpoints;
  readonly axis = new TimeAxis();
  readonly spans: SpanFold;
  readonly metrics = new MetricsCollector();
  readonly #facts: FactRecord[] = [];

  constructor(session: SessionId, { after = 0, isRunStart = true }: SessionModelOptions = {}) {
    this.after = after;
    this.hasStates = isRunStart;
    this.checkpoints = new Checkpoints(session, { after });
    this.spans = new SpanFold({ after });
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
      this.spans.add(record);
      this.metrics.add(record);
    }
  }
}

interface CheckpointOptions {
  /**
   * The offset after which the records start. The computed states do not contain items of earlier
   * records. Default: 0.
   */
  readonly after?: number;
  /**
   * The number of records between two stored states. A small number makes it faster to compute an
   * earlier state. Default: 256.
   */
  readonly interval?: number;
  /** The fold function. Default: `foldBatch`. Tests pass a function that counts its calls. */
  readonly fold?: typeof foldBatch;
}

/**
 * Computes the state of a session at any record. It stores some states to make this fast. Stored
 * states need little memory, because they share their structure.
 */
export class Checkpoints {
  readonly records: LogRecord[] = [];
  readonly #interval: number;
  readonly #fold: typeof foldBatch;
  /** The stored states. Entry k is the state after k intervals. */
  readonly #states: FoldState[];
  #head: FoldState;
  /** The last computed state. The next request is usually for a slightly later state. */
  #last: { readonly count: number; readonly state: FoldState };

  constructor(
    session: SessionId,
    { after = 0, interval = 256, fold = foldBatch }: CheckpointOptions = {},
  ) {
    this.#interval = interval;
    this.#fold = fold;
    const empty = emptyState(session);
    this.#head =
      after === 0
        ? empty
        : { ...empty, through: after, items: cutSequence(), usage: cutSequence() };
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
   * Folds one record into the state. An invalid record is skipped, so that the inspector can show
   * the other records.
   */
  readonly #step = (state: FoldState, record: LogRecord): FoldState => {
    const batch = { after: state.through, through: record.offset, records: [record] };
    const folded: Folded = this.#fold(state, batch);
    return folded.state;
  };
}

/**
 * Returns the number of records up to an offset. This number can be smaller than the offset,
 * because settled turns leave gaps between offsets.
 */
export function countUpTo(records: readonly LogRecord[], offset: number): number {
  return partitionPoint(records.length, (index) => (records[index]?.offset ?? 0) <= offset);
}
