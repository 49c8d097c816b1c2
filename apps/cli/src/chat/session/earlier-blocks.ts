import type { LogRecord, SessionId } from '@millrace/core';
import { type Log, readBackward } from '@millrace/log';
import type { Block } from '../contract/block.ts';
import { emptyChat, foldChat } from '../state/fold-chat.ts';
import { EventFolder } from './follow-session.ts';

// A page is a part of a session between two ends of turns. The blocks of a turn do not depend on earlier turns, so
// the blocks of a page are the same as if all records were read.

interface SessionOfLog {
  readonly log: Log;
  readonly session: SessionId;
}

/** The records after `start`, up to `end`. */
interface PageRange {
  readonly start: number;
  readonly end: number;
}

/** The minimum number of records of a page. */
const defaultMinRecords = 256;
/** The maximum size of one read. A read may go beyond the page, so it is small. */
const readBytes = 2 ** 16;

/** Returns the blocks of a page, in their order. */
export async function readBlocks(
  { log, session }: SessionOfLog,
  { start, end }: PageRange,
): Promise<readonly Block[]> {
  const folder = new EventFolder(session, { through: start, run: undefined });
  let state = emptyChat(session);
  const printed: Block[] = [];
  for (let from = start; from < end; ) {
    const page = await log.read(session, { from, maxBytes: readBytes });
    if (page.through <= from) break;
    const records = page.records.filter(({ offset }) => offset <= end);
    from = Math.min(page.through, end);
    for (const event of folder.add({ after: page.after, through: from, records })?.events ?? []) {
      const step = foldChat(state, event);
      state = step.state;
      printed.push(...step.blocks);
    }
  }
  return printed;
}

/** Returns the start of the page that ends at an offset. */
export async function pageBefore(
  { log, session }: SessionOfLog,
  end: number,
  minRecords: number = defaultMinRecords,
): Promise<number> {
  const last = end - minRecords;
  if (last <= 0) return 0;
  let later: readonly LogRecord[] = [];
  for await (const range of readBackward(log, session, { through: last })) {
    later = [...range, ...later];
    const found = new TurnEnds().addAll(later).last;
    if (found !== undefined) return found;
  }
  return 0;
}

/** Returns the end of the page that starts at an offset. The last page ends at `last`. */
export async function pageAfter(
  { log, session }: SessionOfLog,
  start: number,
  last: number,
  minRecords: number = defaultMinRecords,
): Promise<number> {
  const ends = new TurnEnds();
  for (let from = start; from < last; ) {
    const page = await log.read(session, { from, maxBytes: readBytes });
    if (page.through <= from) break;
    from = page.through;
    for (const record of page.records) {
      ends.add(record);
      const { offset } = record;
      if (ends.last === offset && offset >= start + minRecords) return Math.min(offset, last);
    }
  }
  return last;
}

interface EarlierBlocksOptions extends SessionOfLog {
  /**
   * The reader starts at this offset and goes backwards: it returns the blocks of the records up to it. No part
   * may be open at this offset.
   */
  readonly through: number;
  /** The minimum number of records of a page. Default: 256. */
  readonly minRecords?: number | undefined;
}

/** Reads the blocks of a session backwards from an offset, page by page. */
export class EarlierBlocks {
  readonly #options: EarlierBlocksOptions;
  #through: number;

  constructor(options: EarlierBlocksOptions) {
    this.#options = options;
    this.#through = options.through;
  }

  /** True if all blocks were read. */
  get isOver(): boolean {
    return this.#through === 0;
  }

  /** Returns the blocks of the page before the last one. */
  async read(): Promise<readonly Block[]> {
    const end = this.#through;
    const start = await pageBefore(this.#options, end, this.#options.minRecords);
    const blocks = await readBlocks(this.#options, { start, end });
    this.#through = start;
    return blocks;
  }
}

/** Reads records in order and finds the ends of runs and turns at which no turn is open. */
class TurnEnds {
  /** The offset of the last end. Undefined if there is none. */
  last: number | undefined;
  readonly #open = new Set<number>();

  add({ fact, turn, offset }: LogRecord): void {
    if (turn > 0) this.#open.add(turn);
    if (fact?.type === 'turn_finished') this.#open.delete(turn);
    const isRunEnd = fact?.type === 'run_finished' && fact.stop.reason !== 'parked';
    // After another end of a turn, the run ends too, and its end shows a note only if the turn showed none.
    const isTurnEnd = fact?.type === 'turn_finished' && fact.stop.reason === 'tool_use';
    if ((isRunEnd || isTurnEnd) && this.#open.size === 0) this.last = offset;
  }

  addAll(records: readonly LogRecord[]): this {
    for (const record of records) this.add(record);
    return this;
  }
}
