import {
  type Batch,
  emptyState,
  Folder,
  type FoldState,
  type Item,
  type LogRecord,
  liveTranscript,
  type SessionId,
  totalUsage,
  type Usage,
} from '@millrace/core';
import type { FollowOptions, Log, ReadOptions } from '../contract/log.ts';
import * as assert from './assert.ts';

/**
 * Follows a session step by step and folds the records. It checks that each batch starts at the end of the
 * previous batch.
 */
export class Follower {
  readonly folder: Folder;
  readonly batches: Batch[] = [];
  readonly #iterator: AsyncIterator<Batch>;
  /** The requested batch that has not arrived yet. */
  #next: Promise<IteratorResult<Batch>> | undefined;

  /** Starts at the beginning of a session, or after the last record of a state. */
  constructor(log: Log, from: SessionId | FoldState, options: FollowOptions = {}) {
    this.folder = new Folder(from);
    const { session, through } = this.folder.state;
    this.#iterator = log.follow(session, { ...options, from: through })[Symbol.asyncIterator]();
  }

  get through(): number {
    return this.folder.state.through;
  }

  /** Requests the next batch without waiting for it. */
  request(): Promise<IteratorResult<Batch>> {
    this.#next ??= this.#iterator.next();
    return this.#next;
  }

  /** Waits for one batch. Returns `undefined` at the end of the iteration. */
  async step(): Promise<Batch | undefined> {
    const next = await this.request();
    this.#next = undefined;
    if (next.done) return undefined;
    addBatch(this.folder, next.value);
    this.batches.push(next.value);
    return next.value;
  }

  async reach(through: number): Promise<this> {
    while (this.through < through) {
      const batch = await this.step();
      assert.ok(batch !== undefined, `it ended at ${this.through}, before ${through}`);
    }
    return this;
  }

  /** Reads until the end of the iteration. */
  async end(): Promise<this> {
    while ((await this.step()) !== undefined);
    return this;
  }

  async leave(): Promise<void> {
    await this.#iterator.return?.();
  }
}

/**
 * Reads a session after an offset, page by page. It checks that each page starts at the end of the previous
 * page.
 */
export async function readBatches(
  log: Log,
  session: SessionId,
  { from = 0, maxBytes }: ReadOptions = {},
): Promise<readonly Batch[]> {
  const through = (await log.info(session))?.through ?? 0;
  const batches: Batch[] = [];
  let cursor = from;
  while (cursor < through) {
    const batch = await log.read(session, { from: cursor, maxBytes });
    assert.equal(batch.after, cursor);
    assert.ok(batch.through > cursor, `read after ${cursor} of ${through} returned nothing`);
    batches.push(batch);
    cursor = batch.through;
  }
  return batches;
}

export async function readAll(
  log: Log,
  session: SessionId,
  from = 0,
): Promise<readonly LogRecord[]> {
  return (await readBatches(log, session, { from })).flatMap(({ records }) => records);
}

export async function offsets(log: Log, session: SessionId): Promise<readonly number[]> {
  return (await readAll(log, session)).map(({ offset }) => offset);
}

/** Folds the batches and returns a summary of the state. The batches must have no gaps. */
export function foldedSummary(
  from: SessionId | FoldState,
  batches: readonly Batch[],
): SessionSummary {
  return summaryOf(stateAfter(from, batches));
}

export function stateAfter(from: SessionId | FoldState, batches: readonly Batch[]): FoldState {
  const folder = new Folder(typeof from === 'string' ? emptyState(from) : from);
  for (const batch of batches) addBatch(folder, batch);
  return folder.state;
}

function addBatch(folder: Folder, batch: Batch): void {
  assert.equal(batch.after, folder.state.through, 'the batch does not continue the last one');
  const folded = folder.addBatch(batch);
  if (folded.outcome === 'gap')
    assert.fail(`the log does not fold at offset ${folded.gap.offset}: ${folded.gap.code}`);
}

export async function summaryOfLog(log: Log, session: SessionId): Promise<SessionSummary> {
  return foldedSummary(session, await readBatches(log, session));
}

/**
 * The content of a state, without details that depend on the sizes of the folded batches. All readers must
 * end with the same summary.
 */
interface SessionSummary {
  readonly through: number;
  readonly items: readonly Item[];
  readonly open: readonly string[];
  readonly usage: Usage;
  readonly run: string | undefined;
}

export function summaryOf(state: FoldState): SessionSummary {
  return {
    through: state.through,
    items: liveTranscript(state),
    open: state.open.map(({ id }) => id),
    usage: totalUsage(state),
    run: state.run,
  };
}
