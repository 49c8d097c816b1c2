import { encodeRecord, type FoldState, isCut, type LogRecord, settleTurn } from '@millrace/core';
import { isAppend, mergeAdjacent } from './exact-batch.ts';
import type { PastStates, ReadSession } from './past-states.ts';
import { RunFolder } from './run-folder.ts';

/** The approximate size of a page in characters. Other replays use the same size. */
export const pageLength = 2 ** 18;
/**
 * The approximate total size of all pages that a feed keeps for later clients, in characters. In memory, a page
 * needs several times as much. The encoded frames of more pages are in the replay cache.
 */
const maxKeptLength = 2 ** 19;
/**
 * The size of one read of the log. A page needs several reads. The records of a read are merged and settled
 * before the next read, so that only few of them are in memory.
 */
const sliceBytes = 2 ** 16;
/** When the open turn has this many records, its appends are merged. */
const firstMerge = 1024;

/** Records of a session. A snapshot replaces the deltas of each finished turn. */
export interface SettledPage {
  /** The state before the first record. */
  readonly base: FoldState;
  readonly records: readonly LogRecord[];
  /** The offset of the last record. */
  readonly end: number;
}

/**
 * Reads a session page by page, for clients without a cursor. It reads each page from the log when a client
 * needs it. The memory therefore does not grow with the length of the session.
 */
export class SettledPages {
  readonly #source: ReadSession;
  readonly #states: PastStates;
  /** The pages by the offset before them. The most recently used page is the last entry. */
  #pages = new Map<number, PageBuilder>();
  /** The last read of each page. Reads of the same page run one after the other. */
  readonly #reading = new Map<number, Promise<unknown>>();

  constructor(source: ReadSession, states: PastStates) {
    this.#source = source;
    this.#states = states;
  }

  /** Returns the page after an offset. The page ends at `through`, or earlier if it is full. */
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

  /** Removes all pages, because they may contain redacted content. */
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
      const slice = await log.read(session, { from, incarnation, maxBytes: sliceBytes });
      const { records, through: end } = slice;
      const inRange = end > through ? records.filter(({ offset }) => offset <= through) : records;
      page.add(mergeAdjacent(inRange), after, end <= from ? through : Math.min(end, through));
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

/** A page under construction. It can grow until it is full. */
class PageBuilder {
  readonly #base: FoldState;
  readonly #folder: RunFolder;
  readonly #records: LogRecord[] = [];
  /** The index of the first record that does not belong to a finished turn. */
  #openStart = 0;
  #mergeAt = firstMerge;
  #length = 0;
  /** The number of the open turn. Undefined if no turn is open. */
  #turn: number | undefined;

  constructor(base: FoldState) {
    this.#base = base;
    this.#folder = new RunFolder(base);
  }

  get state(): FoldState {
    return this.#folder.state;
  }

  /** The offset up to which the page contains all records. */
  get end(): number {
    return this.state.through;
  }

  /** The approximate size in characters, without the records up to the cursor of the client. */
  get length(): number {
    return this.#length;
  }

  get isTurnOver(): boolean {
    return this.#turn === undefined;
  }

  get isFull(): boolean {
    return this.#length >= pageLength && this.isTurnOver;
  }

  /** Adds records until the page is full. The records are complete up to the offset `end`. */
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
      // The record changes an old item that the folder has dropped. It does not change a turn of this page.
      if (!isCut(this.state.items)) throw error;
      this.#folder.advanceTo(record.offset);
    }
  }

  #settle(turn: number): void {
    const open = this.#records.splice(this.#openStart);
    for (const record of settleTurn(open, turn, this.state)) this.#records.push(record);
    if (turn === this.#turn) this.#turn = undefined;
  }

  /** Marks all current records as final. Only records after the offset `after` count for the page size. */
  #close(after: number): void {
    for (const record of this.#records.slice(this.#openStart))
      if (record.offset > after) this.#length += lengthOf(record);
    this.#openStart = this.#records.length;
    this.#mergeAt = this.#openStart + firstMerge;
  }

  /** Merges the appends of the open turn. It runs rarely, because each merge copies the text. */
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
