import type { LogRecord } from '@millrace/core';
import type { Log } from '../contract/log.ts';

// The end of a run is a good place to start reading. If the run left nothing open, the state after it is
// known without reading earlier records, except for the old items.

/** The range in which `findRunEnd` searches. */
export interface RunEndOptions {
  /** The offset of the last record of the range. */
  readonly through: number;
  /** The offset before the first record of the range. Default: 0. */
  readonly from?: number | undefined;
  /**
   * The incarnation that the offsets belong to, from `SessionInfo`. Throws `rewound` if the session has
   * another incarnation now. Default: not checked.
   */
  readonly incarnation?: string | undefined;
}

/** The number of records in the first search for the end of a run. If it finds none, it reads more records. */
const firstSearch = 256;
/** The size of one read. A read may go beyond the range, so it is small. */
const pageBytes = 2 ** 16;

/**
 * Finds the last offset in a range at which a run ended and left nothing open. It reads a few records before
 * the end of the range, then four times as many, until it finds such an offset. The cost therefore depends
 * on the length of a run, not on the length of the session. Returns undefined if there is no such offset.
 *
 * @example const offset = await findRunEnd(log, session, { through: 5000 });
 */
export async function findRunEnd(
  log: Log,
  session: string,
  { from: start = 0, through: end, incarnation }: RunEndOptions,
): Promise<number | undefined> {
  for (let length = firstSearch; ; length *= 4) {
    const from = Math.max(start, end - length);
    const runs = new RunEnds();
    for (let cursor = from; cursor < end; ) {
      const page = await log.read(session, { from: cursor, incarnation, maxBytes: pageBytes });
      for (const record of page.records) if (record.offset <= end) runs.add(record);
      if (page.through <= cursor) break;
      cursor = page.through;
    }
    if (runs.last !== undefined || from === start) return runs.last;
  }
}

/** Reads records in order and finds the ends of runs that left nothing open. */
class RunEnds {
  /** The last end of a run. Undefined if there is none. */
  last: number | undefined;
  #run: string | undefined;
  /** The turns of the current run that are not finished. */
  readonly #openTurns = new Set<number>();

  add({ fact, turn, offset }: LogRecord): void {
    if (fact?.type === 'run_started') {
      this.#run = fact.runId;
      this.#openTurns.clear();
    }
    if (turn > 0) this.#openTurns.add(turn);
    if (fact?.type === 'turn_finished') this.#openTurns.delete(turn);
    if (fact?.type !== 'run_finished') return;
    const isOver = fact.runId === this.#run && fact.stop.reason !== 'parked';
    if (isOver && this.#openTurns.size === 0) this.last = offset;
    this.#run = undefined;
  }
}
