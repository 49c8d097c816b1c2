import { encodeRecord, type FoldState, isCut, type LogRecord, settleTurn } from '@millrace/core';
import { isAppend, mergeAdjacent } from './exact-batch.ts';
import type { PastStates, ReadSession } from './past-states.ts';
import { RunFolder } from './run-folder.ts';

/** The approximate size of a page, as text. It is also the size of other replays. */
export const pageLength = 2 ** 18;
/** The approximate size of all pages that a feed keeps for the next clients, as text. */
const maxKeptLength = 2 ** 21;
/** The number of records of the open turn at which its appends are merged. */
const firstMerge = 1024;

/** Records of a session, in which finished turns are settled. */
export interface SettledPage {
  /** The state before the first record. */
  readonly base: FoldState;
  readonly records: readonly LogRecord[];
  /** The offset of the last record. */
  readonly end: number;
}

/**
 * Reads a session for clients without a cursor, page by page. Each page is read from the log when a client
 * needs it. The memory therefore does not grow with the session.
 */
export class SettledPages {
  readonly #source: ReadSession;
  readonly #states: PastStates;
  /** The pages by the offset before them. The page that was used last is at the end. */
  #pages = new Map<number, PageBuilder>();
  /** The last read of each page. Reads of one page run one after another. */
  readonly #reading = new Map<number, Promise<unknown>>();

  constructor(source: ReadSession, states: PastStates) {
    this.#source = source;
    this.#states = states;
  }

  /** Returns the page after an offset. It ends at `through`, or earlier if the page is full. */
  read(after: number, through: number): Promise<SettledPage> {
    const earlier = this.#reading.get(after) ?? Promise.resolve();
    const page = earlier.catch(() => {}).then(() => this.#extend(after, through));
    this.#reading.set(after, page);
    const done = () => {
      if (this.#reading.get(after) === page) this.#reading.delete(after);
    };
    page.then(done, done);
    return page;
  }

  /** Drops all pages, because they may contain redacted content. */
  forget(): void {
    this.#pages = new Map();
  }

  async #extend(after: number, through: number): Promise<SettledPage> {
    const pages = this.#pages;
    const known = pages.get(after);
    const page = known ?? new PageBuilder(await this.#states.before(after, { isTurnOver: true }));
    const { log, session, incarnation } = this.#source;
    while (!page.isFull && page.end < through) {
      const from = page.end;
      const { records, through: end } = await log.read(session, { from, incarnation });
      const inRange = mergeAdjacent(records.filter(({ offset }) => offset <= through));
      page.add(inRange, after, end <= from ? through : Math.min(end, through));
    }
    pages.delete(after);
    pages.set(after, page);
    if (pages === this.#pages) {
      this.#states.remember(page.state, { isTurnOver: page.isTurnOver });
      this.#evict();
    }
    return page.snapshot();
  }

  #evict(): void {
    let length = [...this.#pages.values()].reduce((sum, page) => sum + page.length, 0);
    for (const [after, page] of this.#pages) {
      if (length <= maxKeptLength) return;
      this.#pages.delete(after);
      length -= page.length;
    }
  }
}

/** A page that is read. It can grow until it is full. */
class PageBuilder {
  readonly #base: FoldState;
  readonly #folder: RunFolder;
  readonly #records: LogRecord[] = [];
  /** The index of the first record that is not in a finished turn. */
  #openStart = 0;
  #mergeAt = firstMerge;
  #length = 0;
  /** The turn that has started and has not finished. */
  #turn: number | undefined;

  constructor(base: FoldState) {
    this.#base = base;
    this.#folder = new RunFolder(base);
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  /** The offset up to which the page has all records. */
  get end(): number {
    return this.state.through;
  }

  /** The approximate size as text. Records up to the cursor of the client do not count. */
  get length(): number {
    return this.#length;
  }

  get isTurnOver(): boolean {
    return this.#turn === undefined;
  }

  get isFull(): boolean {
    return this.#length >= pageLength && this.isTurnOver;
  }

  /** Adds records until the page is full. `end` is the offset up to which these are all records. */
  add(records: readonly LogRecord[], after: number, end: number): void {
    for (const record of records) {
      if (record.offset <= this.end) continue;
      this.#fold(record);
      this.#records.push(record);
      const { fact, turn } = record;
      if (fact?.type === 'turn_started') this.#turn = turn;
      if (fact?.type === 'turn_finished') this.#settle(turn);
      if (this.isTurnOver) this.#close(after);
      else if (this.#records.length > this.#mergeAt) this.#merge();
      if (this.isFull) return;
    }
    this.#folder.advanceTo(end);
  }

  snapshot(): SettledPage {
    return { base: this.#base, records: [...this.#records], end: this.end };
  }

  #fold(record: LogRecord): void {
    try {
      this.#folder.add(record);
    } catch (error) {
      // The record changes an old item, which was dropped. It does not change a turn of this page.
      if (!isCut(this.state.items)) throw error;
      this.#folder.advanceTo(record.offset);
    }
  }

  #settle(turn: number): void {
    const open = this.#records.splice(this.#openStart);
    for (const record of settleTurn(open, turn, this.state)) this.#records.push(record);
    if (turn === this.#turn) this.#turn = undefined;
  }

  /** The records up to here do not change any more. Records up to `after` are not sent. */
  #close(after: number): void {
    for (const record of this.#records.slice(this.#openStart))
      if (record.offset > after) this.#length += lengthOf(record);
    this.#openStart = this.#records.length;
    this.#mergeAt = this.#openStart + firstMerge;
  }

  /** Merges the appends of the open turn. This happens rarely, because merging copies the text. */
  #merge(): void {
    const open = this.#records.splice(this.#openStart);
    for (const record of mergeAdjacent(open)) this.#records.push(record);
    const remaining = this.#records.length - this.#openStart;
    this.#mergeAt = this.#openStart + Math.max(firstMerge, 2 * remaining);
  }
}

function lengthOf(record: LogRecord): number {
  return isAppend(record) ? record.delta.chunk.length + 200 : encodeRecord(record).length;
}
