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

/** States are kept so often, for those who resume in the middle; later more seldom. */
const firstInterval = 1024;
const maxCheckpoints = 64;

/**
 * A session as far as it was told: its state, earlier states to start from, and its records with
 * finished turns settled, which is what late comers get. Content is shared between all three.
 */
export class History {
  readonly #folder: Folder;
  /** With finished turns settled. */
  readonly #records: LogRecord[] = [];
  /** Where the records begin that are of no finished turn yet. */
  #openStart = 0;
  /** With so many, the appends of the open turn are put together. */
  #mergeAt = firstInterval;
  /** The first and the last delta of every settled turn. */
  readonly #covers: (readonly [number, number])[] = [];
  #checkpoints: FoldState[];
  #interval = firstInterval;
  /** An item was redacted: what is kept here is to be forgotten, and read again. */
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

  /** A batch in which every offset is a place to resume at. Gives the steps that it was. */
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

  /** The latest state that is kept of those up to an offset. */
  stateBefore(offset: number): FoldState {
    return (
      this.#checkpoints.findLast(({ through }) => through <= offset) ??
      emptyState(this.state.session)
    );
  }

  /** Was its turn settled, so that who came in without a cursor was not told all that is before it? */
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

  /** Seldom, because to put texts together is to copy them. */
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

/** What the log has up to an offset. */
export async function loadHistory(log: Log, session: SessionId, through: number): Promise<History> {
  const history = new History(session);
  while (history.state.through < through) {
    const after = history.state.through;
    const page = await log.read(session, { from: after });
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
  const message = `Cannot tell session ${session} after offset ${offset}: its records do not fit. Connect again`;
  return new LogError('corrupt', message, { session, offset });
}
