import type { LogRecord, SessionId } from '@millrace/core';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';

/**
 * The rows that a transaction has read about a session. The session is locked, so the rows stay valid until
 * the commit.
 */
export interface FetchedSession {
  readonly row: SessionRow;
  readonly producers: Map<string, ProducerRow | undefined>;
  readonly commands: Map<string, CommandRow | undefined>;
  /**
   * The records after the offset `after`, up to the session's last record. Undefined if they were not
   * fetched.
   */
  records: FetchedRecords | undefined;
  /**
   * For each blob, the number of the session's records that reference it. Undefined if these numbers were not
   * fetched.
   */
  blobs: ReadonlyMap<string, number> | undefined;
}

interface FetchedRecords {
  readonly after: number;
  readonly records: readonly LogRecord[];
  /** The offset ranges of the rows that contain the records. */
  readonly places: readonly { readonly first: number; readonly last: number }[];
}

/** All rows that a transaction has read. */
export class FetchedRows {
  readonly sessions: Map<SessionId, FetchedSession | undefined> = new Map();
  /** Epochs that were allocated and are not used yet, in order. */
  readonly epochs: number[] = [];
  readonly made: number[] = [];
  /**
   * The store's incarnation. Undefined if the store has no incarnation. In that case, each new session gets
   * its own incarnation.
   */
  incarnation: number | undefined;

  putSession(session: SessionId, row: SessionRow | undefined): void {
    const none = { producers: new Map(), commands: new Map() };
    const found = row && { row, ...none, records: undefined, blobs: undefined };
    this.sessions.set(session, found);
  }
}

/** A request for a row that the work needs but that was not fetched. */
export type RowRequest =
  | { readonly what: 'session'; readonly session: SessionId }
  | { readonly what: 'producer'; readonly session: SessionId; readonly name: string }
  | { readonly what: 'command'; readonly session: SessionId; readonly name: string }
  /** Requests all records after an offset. The answer includes earlier records of the same row. */
  | { readonly what: 'records'; readonly session: SessionId; readonly after: number }
  | { readonly what: 'blobs'; readonly session: SessionId }
  | { readonly what: 'epoch' }
  | { readonly what: 'made' };

/**
 * Thrown inside the work to request a row. The work then runs again with that row. Callers of the log never
 * see this object. It is not an `Error`, because creating a stack trace takes longer than the rest of an
 * append.
 */
export class NotFetched {
  readonly request: RowRequest;

  constructor(request: RowRequest) {
    this.request = request;
  }
}

/** The row requests of one kind, for example the requests for producers. */
export type RequestOf<What extends RowRequest['what']> = Extract<RowRequest, { what: What }>;

/** Returns the ids of the sessions that the requests name. */
export function requestedSessions(requests: readonly RowRequest[]): readonly SessionId[] {
  return [
    ...new Set(
      requests.flatMap((request) => (request.what === 'session' ? [request.session] : [])),
    ),
  ];
}

/**
 * Adds fetched records to a session. If the answers of several requests overlap, the largest answer is kept.
 */
export function keepRecords(owner: FetchedSession, records: FetchedRecords): void {
  if (owner.records === undefined || owner.records.after > records.after) owner.records = records;
}
