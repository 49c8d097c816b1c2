import {
  type AgentEvent,
  agentEvents,
  countingIds,
  DeltaWriter,
  type Fact,
  Folder,
  type ItemId,
  itemId,
  type LogRecord,
  recordVersion,
  type SessionId,
  type Stop,
  sessionId,
  type Usage,
} from '@millrace/core';
import { expect } from 'vitest';
import type { Observer } from '../contract/observer.ts';

/** A record with its events, as observers receive them. */
export interface ObservedRecord {
  readonly record: LogRecord;
  readonly events: readonly AgentEvent[];
}

/** Returns the records of a log with their events. Throws if a record does not fold. */
export function observedRecords(
  records: readonly LogRecord[],
  session: SessionId = sessionId('test'),
): readonly ObservedRecord[] {
  const folder = new Folder(session);
  const told: ObservedRecord[] = [];
  for (const record of records) {
    const after = record.offset - 1;
    const folded = folder.addBatch(
      { after, through: record.offset, records: [record] },
      (before, _record, state) => {
        told.push({ record, events: agentEvents(before, record, state) });
      },
    );
    expect(folded.outcome).toBe('applied');
  }
  return told;
}

export function notifyAll(observer: Observer, told: readonly ObservedRecord[]): void {
  for (const { record, events } of told) observer(record, events);
}

export const stop: Stop = { reason: 'stop' };

export function usage(input: number, output: number): Usage {
  const rest = { cacheRead: 0, cacheWrite: 0, reasoning: 0, estimated: false, costs: [] };
  return { input, output, ...rest };
}

/** Builds a log for a test. The records are numbered as in a store, and their times are 100 ms apart. */
export class LogBuilder {
  readonly session: SessionId;
  readonly records: LogRecord[] = [];
  readonly #ids = countingIds();
  #turn = 0;
  #attempt = 0;

  constructor(session: SessionId = sessionId('test')) {
    this.session = session;
  }

  /** Sets the turn and the attempt of the following records. */
  at(turn: number, attempt = 0): this {
    this.#turn = turn;
    this.#attempt = attempt;
    return this;
  }

  fact(...facts: readonly Fact[]): this {
    for (const fact of facts) this.records.push({ ...this.#head(), fact });
    return this;
  }

  /** Starts an assistant item and its request. */
  request(model = 'model-1'): DeltaWriter {
    const id = this.#ids.item();
    this.fact(
      { type: 'item_started', itemId: id, kind: 'assistant' },
      { type: 'response_started', itemId: id, provider: 'openai-responses', model },
    );
    return this.writerOf(id);
  }

  item(kind: 'user' | 'tool' | 'notification' | 'assistant'): DeltaWriter {
    const id = this.#ids.item();
    this.fact({ type: 'item_started', itemId: id, kind });
    return this.writerOf(id);
  }

  writerOf(id: ItemId): DeltaWriter {
    const at = { turn: this.#turn, attempt: this.#attempt };
    return new DeltaWriter({ itemId: id, ...at, ids: this.#ids });
  }

  /** Adds the deltas that the writer has produced. */
  take(writer: DeltaWriter): this {
    for (const delta of writer.take()) this.records.push({ ...this.#head(), delta });
    return this;
  }

  /** The item that was started last. */
  get lastItem(): ItemId {
    const started = this.records.findLast(({ fact }) => fact?.type === 'item_started')?.fact;
    return started?.type === 'item_started' ? started.itemId : itemId('none');
  }

  get observed(): readonly ObservedRecord[] {
    return observedRecords(this.records, this.session);
  }

  #head() {
    const offset = this.records.length + 1;
    const at = { turn: this.#turn, attempt: this.#attempt };
    return { v: recordVersion, offset, time: offset * 100, ...at, producer: 'test' } as const;
  }
}
