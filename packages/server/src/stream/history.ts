import {
  type Batch,
  emptyState,
  Folder,
  type FoldState,
  type LogRecord,
  type SessionId,
  settleTurn,
} from '@millrace/core';
import { type Log, LogError } from '@millrace/log';
import { mergeAdjacent } from './exact-batch.ts';
import type { Step } from './frames/frame-chunk.ts';

/**
 * The number of records between two checkpoints. Clients that resume in the middle start at a checkpoint.
 * If there are too many checkpoints, the number doubles.
 */
const firstInterval = 1024;
const maxCheckpoints = 64;

/**
 * The published part of a session. It contains the state, checkpoints of earlier states, and the records
 * for clients without a cursor. In these records, finished turns are settled. The three share their content
 * in memory.
 */
export class History {
  readonly #folder: Folder;
  /** The records. Finished turns are settled. */
  readonly #records: LogRecord[] = [];
  /** The index of the first record that does not belong to a finished turn. */
  #openStart = 0;
  /** The number of records at which the appends of the open turn are merged. */
  #mergeAt = firstInterval;
  /** The offsets of the first and last delta of each settled turn. */
  readonly #covers: (readonly [number, number])[] = [];
  #checkpoints: FoldState[];
  #interval = firstInterval;
  /** True after an item was redacted. The history must then be loaded again. */
  isStale = false;

  constructor(session: SessionId) {
    const state = emptyState(session);
    this.#folder = new Folder(state);
    this.#checkpoints = [state];
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  get records(): readonly LogRecord[] {
    return this.#records;
  }

  /** Adds a batch and returns its steps. Clients must be able to resume at every offset of the batch. */
  add({ through, records }: Batch): readonly Step[] {
    const steps: Step[] = [];
    for (const record of records) {
      if (record.offset <= this.state.through) continue;
      this.#fold({ after: this.state.through, through: record.offset, records: [record] }, steps);
      this.#store(record);
    }
    if (through > this.state.through) {
      this.#fold({ after: this.state.through, through, records: [] }, steps);
    }
    this.#checkpoint();
    return steps;
  }

  /** Returns the latest checkpoint at or before an offset. */
  stateBefore(offset: number): FoldState {
    return (
      this.#checkpoints.findLast(({ through }) => through <= offset) ??
      emptyState(this.state.session)
    );
  }

  /**
   * Returns whether the offset is inside a settled turn. A client without a cursor did not receive all
   * records before such an offset.
   */
  isSettled(offset: number): boolean {
    return this.#covers.some(([first, last]) => first <= offset && offset < last);
  }

  #fold(batch: Batch, steps: Step[]): void {
    const folded = this.#folder.addBatch(batch, (before, record, after) => {
      steps.push({ before, record, after });
    });
    if (folded.outcome === 'gap') throw historyGap(this.state.session, batch.after);
  }

  #store(record: LogRecord): void {
    this.#records.push(record);
    if (this.#records.length > this.#mergeAt) this.#merge();
    const { fact, turn } = record;
    if (fact?.type === 'turn_finished') this.#settle(turn);
    if (fact?.type === 'snapshot') this.#covers.push(fact.covers);
    if (fact?.type === 'item_redacted') this.isStale = true;
  }

  /** Merges the appends of the open turn. This happens rarely, because merging copies the text. */
  #merge(): void {
    const open = this.#records.splice(this.#openStart);
    for (const record of mergeAdjacent(open)) this.#records.push(record);
    const remaining = this.#records.length - this.#openStart;
    this.#mergeAt = this.#openStart + Math.max(firstInterval, 2 * remaining);
  }

  #settle(turn: number): void {
    const open = this.#records.splice(this.#openStart);
    const settled = settleTurn(open, turn, this.state);
    for (const record of settled) {
      this.#records.push(record);
      const isNew = settled !== open && record.turn === turn;
      if (isNew && record.fact?.type === 'snapshot') this.#covers.push(record.fact.covers);
    }
    this.#openStart = this.#records.length;
    this.#mergeAt = this.#openStart + firstInterval;
  }

  #checkpoint(): void {
    const last = this.#checkpoints.at(-1)?.through ?? 0;
    if (this.state.through - last < this.#interval) return;
    this.#checkpoints.push(this.state);
    if (this.#checkpoints.length <= maxCheckpoints) return;
    this.#checkpoints = this.#checkpoints.filter((_, index) => index % 2 === 0);
    this.#interval *= 2;
  }
}

/** Loads the history of a session up to an offset. */
export async function loadHistory(
  log: Log,
  session: SessionId,
  { through, incarnation }: { readonly through: number; readonly incarnation: string },
): Promise<History> {
  const history = new History(session);
  while (history.state.through < through) {
    const after = history.state.through;
    const page = await log.read(session, { from: after, incarnation });
    const records = page.records.filter(({ offset }) => offset <= through);
    history.add({
      after,
      through: page.through <= after ? through : Math.min(through, page.through),
      records: mergeAdjacent(records),
    });
  }
  history.isStale = false;
  return history;
}

export function historyGap(session: SessionId, offset: number): LogError {
  const message = `Cannot stream session ${session} after offset ${offset}: its records do not match the state. Connect again`;
  return new LogError('corrupt', message, { session, offset });
}
