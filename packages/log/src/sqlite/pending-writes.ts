import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionRow } from '../storage/rows.ts';

interface TakenWrites {
  readonly rows: Iterable<SessionRow>;
  readonly records: Iterable<readonly [SessionId, readonly LogRecord[]]>;
}

export const noWrites: TakenWrites = { rows: [], records: [] };

/**
 * Collects writes that a transaction has not executed yet. Several appends to a session are combined into
 * one row.
 */
export class PendingWrites {
  #rows = new Map<SessionId, SessionRow>();
  #records = new Map<SessionId, LogRecord[]>();

  row(session: SessionId): SessionRow | undefined {
    return this.#rows.get(session);
  }

  putRow(row: SessionRow): void {
    this.#rows.set(row.session, row);
  }

  add(session: SessionId, records: readonly LogRecord[]): void {
    const before = this.#records.get(session);
    if (before === undefined) this.#records.set(session, [...records]);
    else for (const record of records) before.push(record);
  }

  take(): TakenWrites {
    const taken = { rows: this.#rows.values(), records: this.#records };
    this.#rows = new Map();
    this.#records = new Map();
    return taken;
  }
}
