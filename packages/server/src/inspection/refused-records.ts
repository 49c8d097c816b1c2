import type { Batch, Delta, LogRecord, PartId, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';

/** The size of one read. The server answers other requests after each read. */
const pageBytes = 2 ** 16;

/**
 * The records that have no effect on the settled state, because later records took their content back: an output
 * guardrail stopped or changed an answer, a person refused it, or an attempt was repeated. Each reader that receives
 * stored records must leave them out. A reader that received them live has also received what takes them back.
 */
export class RefusedRecords {
  /** The attempts whose start was seen, and those that were superseded after it. */
  readonly #attempts = new Set<string>();
  readonly #superseded = new Set<string>();
  /** The parts whose start was seen, and those that were retracted after it. */
  readonly #parts = new Set<PartId>();
  readonly #retracted = new Set<PartId>();

  static of(records: readonly LogRecord[]): RefusedRecords {
    const refused = new RefusedRecords();
    for (const record of records) refused.add(record);
    return refused;
  }

  /** Reads the records after an offset that are on the log now. */
  static async read(log: Log, session: SessionId, after: number): Promise<RefusedRecords> {
    const refused = new RefusedRecords();
    const { through = 0 } = (await log.info(session)) ?? {};
    for (let from = after; from < through; ) {
      const page = await log.read(session, { from, maxBytes: pageBytes });
      for (const record of page.records) refused.add(record);
      if (page.through <= from) break;
      from = page.through;
    }
    return refused;
  }

  /** Adds a stored record. All records after the first one must be added in order. */
  add(record: LogRecord): void {
    const { fact, delta } = record;
    // If an attempt or a part began earlier, the reader may have its start, so it needs the end too.
    if (fact?.type === 'item_started') this.#attempts.add(attemptOf(record));
    if (fact?.type === 'attempt_superseded' && this.#attempts.has(attemptOf(record)))
      this.#superseded.add(attemptOf(record));
    const begun = delta && partBegunBy(delta);
    if (begun !== undefined) this.#parts.add(begun);
    if (delta?.type === 'retract_part' && this.#parts.has(delta.partId))
      this.#retracted.add(delta.partId);
  }

  /** Returns true if later records took the content of this record back. */
  has(record: LogRecord): boolean {
    const { delta } = record;
    if (this.#superseded.has(attemptOf(record))) return true;
    return delta !== undefined && 'partId' in delta && this.#retracted.has(delta.partId as PartId);
  }

  /** Returns a batch without these records. */
  without(batch: Batch): Batch {
    const { records } = batch;
    return records.some((one) => this.has(one))
      ? { ...batch, records: records.filter((one) => !this.has(one)) }
      : batch;
  }
}

function attemptOf({ turn, attempt }: LogRecord): string {
  return `${turn}.${attempt}`;
}

function partBegunBy(delta: Delta): PartId | undefined {
  if (delta.type === 'begin_part') return delta.partId;
  return delta.type === 'commit_part' && delta.part !== undefined ? delta.partId : undefined;
}
