import type { Batch, DraftRecord } from '@millrace/core';
import type { JoinedWork } from './commits/commit-queue.ts';

/** Maximum number of appends that are stored together. It limits the size of a transaction. */
const maxAppends = 1024;

interface LaterAppend {
  /** The number of drafts of all appends up to this one. */
  readonly end: number;
  readonly resolve: (batch: Batch) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Streamed appends of one driver that wait for the same transaction. They are stored as one piece of work,
 * because a fast model can append hundreds of times during one transaction. Each append still has its own
 * batch and its own result.
 */
export class StreamedAppends implements JoinedWork {
  #drafts: readonly DraftRecord[];
  readonly #firstEnd: number;
  /** The appends after the first one. Undefined if there are none, which is the usual case in memory. */
  #later: LaterAppend[] | undefined;
  #allDrafts: DraftRecord[] | undefined;
  #isStarted = false;
  #batch: Batch | undefined;

  constructor(first: readonly DraftRecord[]) {
    this.#drafts = first;
    this.#firstEnd = first.length;
  }

  get count(): number {
    return 1 + (this.#later?.length ?? 0);
  }

  /** True after the transaction has started to store the drafts. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Adds an append. Returns its batch, or undefined if it is too late to add it. */
  join(drafts: readonly DraftRecord[]): Promise<Batch> | undefined {
    if (this.#isStarted || this.count >= maxAppends) return undefined;
    this.#allDrafts ??= [...this.#drafts];
    this.#drafts = this.#allDrafts;
    for (const draft of drafts) this.#allDrafts.push(draft);
    const end = this.#allDrafts.length;
    this.#later ??= [];
    const { promise, resolve, reject } = Promise.withResolvers<Batch>();
    this.#later.push({ end, resolve, reject });
    return promise;
  }

  /** Returns the drafts of all appends. From now on, no append can join. */
  start(): readonly DraftRecord[] {
    this.#isStarted = true;
    return this.#drafts;
  }

  /** Receives the batch of all appends. Returns the batch of the first append. */
  split(batch: Batch): Batch {
    this.#batch = batch;
    return this.#later === undefined ? batch : this.#part(0, this.#firstEnd);
  }

  resolve(): void {
    let start = this.#firstEnd;
    for (const { end, resolve } of this.#later ?? []) {
      resolve(this.#part(start, end));
      start = end;
    }
  }

  reject(error: unknown): void {
    this.#isStarted = true;
    for (const { reject } of this.#later ?? []) reject(error);
  }

  /** Returns the part of the batch with the drafts from `start` to `end`. */
  #part(start: number, end: number): Batch {
    const { after, through, records } = this.#batch ?? { after: 0, through: 0, records: [] };
    const total = this.#drafts.length;
    // The batch starts with the records of other writers. They belong to the part of the first append.
    const [offset, index] = [through - total, records.length - total];
    return {
      after: start === 0 ? after : offset + start,
      through: offset + end,
      records: records.slice(start === 0 ? 0 : index + start, index + end),
    };
  }
}
