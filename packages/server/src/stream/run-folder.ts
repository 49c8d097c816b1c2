import {
  cutSequence,
  Folder,
  type FoldState,
  findItemOfPart,
  findLast,
  isCut,
  type LogRecord,
  type OnStep,
  type SessionId,
} from '@millrace/core';
import { LogError } from '@millrace/log';

// Views need only the items of the current run. A stream therefore drops older items, and its memory does not
// grow with the length of the session.

/** Folds records one at a time. At the start of a run, it drops the items of earlier runs. */
export class RunFolder {
  #folder: Folder;
  readonly #keepsItems: boolean;
  /**
   * False if the last run was parked, or if its end is unknown. The next run then continues the same turn.
   */
  #isRunOver = false;

  /** If `keepsItems` is true, it drops no items. Default: false. */
  constructor(state: FoldState, { keepsItems = false } = {}) {
    this.#folder = new Folder(state);
    this.#keepsItems = keepsItems;
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  /**
   * Folds a record. Throws if the record does not fit the state, for example because it changes a dropped
   * item.
   */
  add(record: LogRecord, onStep?: OnStep): void {
    const { fact, offset } = record;
    if (fact?.type === 'run_started' && !this.#keepsItems) this.#dropOldItems();
    if (fact?.type === 'run_finished') this.#isRunOver = fact.stop.reason !== 'parked';
    const after = this.state.through;
    const folded = this.#folder.addBatch({ after, through: offset, records: [record] }, onStep);
    if (folded.outcome === 'gap') throw historyGap(this.state.session, after);
  }

  /** Sets the current offset. The next record must come directly after it. */
  advanceTo(through: number): void {
    const after = this.state.through;
    if (through > after) this.#folder.addBatch({ after, through, records: [] });
  }

  #dropOldItems(): void {
    const { state } = this;
    if (this.#isRunOver && hasNoOpenWork(state)) this.#folder = new Folder(withoutItems(state));
  }
}

function hasNoOpenWork({ items, open, asked, awaited, superseded }: FoldState): boolean {
  return (
    [open, asked, awaited, superseded].every(({ length }) => length === 0) &&
    findLast(items, ({ finished }) => finished === undefined) === undefined
  );
}

function withoutItems(state: FoldState): FoldState {
  return { ...state, items: cutSequence(), usage: cutSequence() };
}

/** Returns whether a record changes an item that the state no longer contains. */
export function changesOldItem(state: FoldState, records: readonly LogRecord[]): boolean {
  const isOld = ({ delta }: LogRecord) => {
    if (delta?.type !== 'retract_part') return false;
    const { partId } = delta;
    const isGone = state.gone.some((ids) => ids.has(partId));
    if (isGone || findItemOfPart(state, partId) !== undefined) return false;
    const isNew = records.some(
      (record) => record.delta?.type !== 'retract_part' && partOf(record) === partId,
    );
    return !isNew && isCut(state.items);
  };
  return records.some(isOld);
}

function partOf({ delta }: LogRecord): string | undefined {
  return delta === undefined || delta.type === 'unknown' ? undefined : delta.partId;
}

export function historyGap(session: SessionId, offset: number): LogError {
  const message = `Cannot stream session ${session} after offset ${offset}: its records do not match the state. Connect again`;
  return new LogError('corrupt', message, { session, offset });
}
