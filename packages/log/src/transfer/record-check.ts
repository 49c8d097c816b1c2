import {
  emptyState,
  type FoldState,
  foldBatch,
  type LogRecord,
  type SessionId,
  validate,
} from '@millrace/core';
import { BadLine } from './bad-line.ts';
import type { SessionHeader } from './session-header.ts';

/** Holds each record against those before it, by the same rules that its writer had to keep. */
export class RecordCheck {
  readonly #through: number;
  readonly #holes: Map<number, number>;
  readonly #keys = new Set<string>();
  #state: FoldState;
  /** The offset that the next record has to have. */
  #next: number;

  constructor(session: SessionId, { through, holes }: SessionHeader) {
    this.#through = through;
    this.#holes = new Map(holes);
    this.#state = emptyState(session);
    this.#next = this.#after(0);
  }

  /** Throws `BadLine`, or an error of core's. */
  take(record: LogRecord): void {
    this.#assertPlace(record);
    this.#assertKey(record);
    if (record.fact?.type === 'snapshot') this.#assertCovers(record.offset, record.fact.covers);
    // Only a store writes snapshots, so the rules for writers do not know them; the fold does.
    else validate(this.#state, record);
    this.#fold(record);
    this.#next = this.#after(record.offset);
  }

  /** What is there so far is all of it. */
  end(): void {
    if (this.#next <= this.#through)
      throw new BadLine(`the file ends before offset ${this.#next} of ${this.#through}`);
  }

  #after(offset: number): number {
    const next = offset + 1;
    const hole = this.#holes.get(next);
    return hole === undefined ? next : hole + 1;
  }

  #assertPlace({ offset }: LogRecord): void {
    if (offset === this.#next && offset <= this.#through) return;
    const expected = this.#next > this.#through ? 'no more records come' : `${this.#next} comes`;
    throw new BadLine(`it has offset ${offset} where ${expected}`, 'bad_records', { offset });
  }

  #assertKey({ fact, offset }: LogRecord): void {
    if (fact?.type !== 'command_queued') return;
    if (this.#keys.has(fact.key))
      throw new BadLine('it has the key of an earlier command', 'bad_records', { offset });
    this.#keys.add(fact.key);
  }

  #assertCovers(offset: number, [, last]: readonly [number, number]): void {
    if (last !== offset)
      throw new BadLine('it covers what is not before it', 'bad_records', { offset });
  }

  #fold(record: LogRecord): void {
    const { offset } = record;
    const batch = { after: this.#state.through, through: offset, records: [record] };
    const folded = foldBatch(this.#state, batch);
    if (folded.outcome === 'gap')
      throw new BadLine(`it does not follow (${folded.gap.code})`, 'bad_records', { offset });
    this.#state = folded.state;
  }
}
