import { countingIds, type ItemId, itemId } from '../ids.ts';
import type { Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import { type LogRecord, recordVersion } from '../protocol/record.ts';
import { DeltaWriter } from '../write/delta-writer.ts';

export const item: ItemId = itemId('i1');

/** A log for a test. It numbers the records as a store would. */
export class TestLog {
  readonly records: LogRecord[] = [];
  readonly writer: DeltaWriter = new DeltaWriter({
    itemId: item,
    turn: 1,
    attempt: 1,
    ids: countingIds(),
  });

  constructor() {
    this.fact({ type: 'item_started', itemId: item, kind: 'assistant' });
  }

  fact(fact: Fact, turn = 1, attempt = 1): this {
    this.records.push({ ...this.#head(), turn, attempt, fact });
    return this;
  }

  delta(delta: Delta): this {
    this.records.push({ ...this.#head(), turn: 1, attempt: 1, delta });
    return this;
  }

  /** Adds the deltas that the writer wrote since the last call. */
  take(): this {
    for (const delta of this.writer.take()) this.delta(delta);
    return this;
  }

  #head() {
    const offset = this.records.length + 1;
    return { v: recordVersion, offset, time: offset * 10, producer: 'test' } as const;
  }
}
