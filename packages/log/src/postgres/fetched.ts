import type { LogRecord, SessionId } from '@millrace/core';
import type { CommandRow, ProducerRow, SessionRow } from '../shelf/rows.ts';

/** What a transaction has read of a session, which is locked: so it is true until the commit. */
export interface FetchedSession {
  readonly row: SessionRow;
  readonly producers: Map<string, ProducerRow | undefined>;
  readonly commands: Map<string, CommandRow | undefined>;
  /** From the offset after `after` to the last. */
  records: FetchedRecords | undefined;
  /** How many of its records name each blob. */
  blobs: ReadonlyMap<string, number> | undefined;
}

interface FetchedRecords {
  readonly after: number;
  readonly records: readonly LogRecord[];
  /** The rows that they are stored in. */
  readonly places: readonly { readonly first: number; readonly last: number }[];
}

/** All that a transaction has read. What is done in it is done on drafts of this. */
export class Fetched {
  readonly sessions: Map<SessionId, FetchedSession | undefined> = new Map();
  /** Numbers that are to be had, in order. */
  readonly epochs: number[] = [];
  readonly made: number[] = [];

  putSession(session: SessionId, row: SessionRow | undefined): void {
    const none = { producers: new Map(), commands: new Map() };
    const found = row && { row, ...none, records: undefined, blobs: undefined };
    this.sessions.set(session, found);
  }
}
