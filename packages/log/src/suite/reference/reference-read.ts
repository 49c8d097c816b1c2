import { type Batch, encodeRecord } from '@millrace/core';
import type { ReadOptions } from '../../contract/log.ts';
import { isInsideSettled } from './reference-rewrite.ts';
import { type ReferenceSession, refusal } from './reference-store.ts';

/** Returns the page after an offset. A page does not end inside a range that a snapshot replaces. */
export function batchAfter(
  found: ReferenceSession,
  from: number,
  maxBytes: number = Infinity,
): Batch {
  assertOffset(found, from);
  const records = found.records.filter(({ offset }) => offset > from);
  let bytes = 0;
  const end = records.find((record) => {
    bytes += encodeRecord(record).length;
    return bytes >= maxBytes && !isInsideSettled(found.records, record.offset);
  });
  const through = end?.offset ?? found.through;
  return { after: from, through, records: records.filter(({ offset }) => offset <= through) };
}

type Extent = Pick<ReferenceSession, 'session' | 'through'>;

export function assertCursor(
  found: Extent & Pick<ReferenceSession, 'incarnation'>,
  { from = 0, incarnation }: Pick<ReadOptions, 'from' | 'incarnation'>,
): void {
  if (incarnation !== undefined && incarnation !== found.incarnation)
    throw refusal('rewound', { session: found.session });
  assertOffset(found, from);
}

function assertOffset({ session, through }: Extent, offset: number): void {
  const isThere = Number.isInteger(offset) && offset >= 0 && offset <= through;
  if (!isThere) throw refusal('bad_offset', { session, offset, through });
}

/**
 * An iteration that the reader can end at any time. `return()` and `throw()` also end a pending `next()`. A
 * generator would wait for the next record, which may never arrive. The iteration reads nothing before the
 * first `next()`.
 */
export class FollowIterator implements AsyncIterableIterator<Batch, undefined, undefined> {
  readonly #outer: AbortSignal | undefined;
  readonly #left = new AbortController();
  readonly #leave = () => this.#left.abort();
  readonly #batches: AsyncGenerator<Batch>;

  constructor(
    outer: AbortSignal | undefined,
    start: (signal: AbortSignal) => AsyncGenerator<Batch>,
  ) {
    this.#outer = outer;
    this.#batches = start(this.#left.signal);
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    if (this.#outer?.aborted) this.#leave();
    // Listens to the signal only while it waits, because a signal may exist longer than this iteration.
    this.#outer?.addEventListener('abort', this.#leave, { once: true });
    try {
      return await this.#batches.next();
    } finally {
      this.#outer?.removeEventListener('abort', this.#leave);
    }
  }

  async return(): Promise<IteratorResult<Batch, undefined>> {
    this.#leave();
    return this.#batches.return(undefined);
  }

  async throw(error: unknown): Promise<IteratorResult<Batch, undefined>> {
    this.#leave();
    return this.#batches.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
