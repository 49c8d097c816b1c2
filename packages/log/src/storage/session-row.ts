import type { LogRecord, SessionId } from '@millrace/core';
import type { SessionInfo } from '../contract/session-info.ts';
import { incarnationText } from './incarnation.ts';
import type { NewSessionNumbers } from './record-store.ts';
import type { ChainHead, LeaseRow, Origin, SessionRow } from './rows.ts';

/**
 * Returns the row of a session without records. `made` must be a number that no session had before.
 */
export function newSession(
  session: SessionId,
  { made, incarnation }: NewSessionNumbers,
  now: number,
): SessionRow {
  return {
    session,
    made,
    incarnation,
    rewrites: 0,
    through: 0,
    createdAt: now,
    changedAt: now,
    isClosed: false,
    epoch: 0,
    lease: undefined,
    openWork: [],
    queuedCommands: 0,
    origin: undefined,
  };
}

/**
 * The start of the ids of hidden sessions. A long fork uses such a session until it is complete. Ids of callers
 * have no control characters, so hidden ids come before all of them.
 */
export const hiddenPrefix = '\u0001';

/** Comes after all hidden ids and before all other ids. */
const hiddenEnd = '\u0002';

/** Returns whether a session is hidden. */
export function isHidden(session: string): boolean {
  return session < hiddenEnd;
}

/** Returns the filter for the sessions that are not hidden. */
export function visibleSessions<Filter extends { readonly after?: string | undefined }>(
  filter: Filter,
): Filter & { readonly after: string } {
  const { after = '' } = filter;
  return { ...filter, after: after < hiddenEnd ? hiddenEnd : after };
}

export function sessionInfo(row: SessionRow): SessionInfo {
  const { session, through, createdAt, changedAt, isClosed, epoch, origin } = row;
  const lease = currentLease(row);
  return {
    session,
    through,
    incarnation: incarnationText(row),
    createdAt,
    changedAt,
    isClosed,
    hasWork: hasWork(row),
    lease: lease && { holder: lease.holder, epoch, expiresAt: lease.expiresAt },
    epoch,
    origin,
    ...(row.chain && { chain: chainInfo(row.chain) }),
    ...(row.isDamaged && { isDamaged: row.isDamaged }),
  };
}

/**
 * Returns the valid lease of a session. A lease of an earlier incarnation is invalid, because the log was
 * rewound, and the holder of the lease may have read records that no longer exist.
 */
export function currentLease({ lease, incarnation }: SessionRow): LeaseRow | undefined {
  return (lease?.incarnation ?? incarnation) === incarnation ? lease : undefined;
}

/**
 * Returns the row with updated open work. It applies the runs and turns that the records start or finish.
 * With this field, the log can find open work without a fold.
 */
export function withOpenWork(row: SessionRow, records: readonly LogRecord[]): SessionRow {
  let { openWork } = row;
  for (const { fact, turn } of records) {
    switch (fact?.type) {
      case 'run_started':
        openWork = [...withoutWork(openWork, `run ${fact.runId}`), `run ${fact.runId}`];
        break;
      case 'run_finished':
        openWork = withoutWork(openWork, `run ${fact.runId}`);
        break;
      case 'turn_started':
        openWork = [...withoutWork(openWork, `turn ${turn}`), `turn ${turn}`];
        break;
      case 'turn_finished':
        openWork = withoutWork(openWork, `turn ${turn}`);
        break;
      default:
    }
  }
  return openWork === row.openWork ? row : { ...row, openWork };
}

function withoutWork(work: readonly string[], done: string): readonly string[] {
  return work.filter((one) => one !== done);
}

/** Returns whether the session has open runs, open turns or queued commands. */
export function hasWork({ isClosed, openWork, queuedCommands }: SessionRow): boolean {
  return !isClosed && (openWork.length > 0 || queuedCommands > 0);
}

/** Returns whether no run and no turn is open. */
export function isIdle({ openWork }: SessionRow): boolean {
  return openWork.length === 0;
}

/**
 * Encodes a session row as text. `JSON.stringify` alone would lose the expiry `Infinity` of a workflow's
 * lease.
 */
export function encodeSessionRow(row: SessionRow): string {
  return JSON.stringify(toColumns(row));
}

/** Decodes the text that `encodeSessionRow` wrote. `incarnation` is the current incarnation of the store. */
export function decodeSessionRow(text: string, incarnation: number): SessionRow {
  return fromColumns(JSON.parse(text) as SessionColumns, incarnation);
}

/** A session row in the form of database columns. */
export interface SessionColumns {
  readonly id: string;
  readonly made: number;
  readonly rewrites: number;
  readonly through: number;
  readonly created_at: number;
  readonly changed_at: number;
  readonly is_closed: boolean;
  readonly epoch: number;
  readonly lease: string | null;
  readonly open_work: string;
  readonly queued_commands: number;
  readonly origin: string | null;
  /** The end of the hash chain. Rows that were stored before chains existed do not have this field. */
  readonly chain?: string | null;
}

export function toColumns(row: SessionRow): SessionColumns {
  const { lease, origin } = row;
  return {
    id: row.session,
    made: row.made,
    rewrites: row.rewrites,
    through: row.through,
    created_at: row.createdAt,
    changed_at: row.changedAt,
    is_closed: row.isClosed,
    epoch: row.epoch,
    lease:
      lease === undefined ? null : JSON.stringify({ ...lease, expiresAt: String(lease.expiresAt) }),
    open_work: JSON.stringify(row.openWork),
    queued_commands: row.queuedCommands,
    origin: origin === undefined ? null : JSON.stringify(origin),
    chain: row.chain === undefined ? null : chainText(row.chain),
  };
}

/** Converts stored columns to a row. `incarnation` is the current incarnation of the store. */
export function fromColumns(fields: SessionColumns, incarnation: number): SessionRow {
  return {
    session: fields.id as SessionId,
    made: fields.made,
    incarnation,
    rewrites: fields.rewrites,
    through: fields.through,
    createdAt: fields.created_at,
    changedAt: fields.changed_at,
    isClosed: fields.is_closed,
    epoch: fields.epoch,
    lease: fields.lease === null ? undefined : parseLease(fields.lease),
    openWork: JSON.parse(fields.open_work) as readonly string[],
    queuedCommands: fields.queued_commands,
    origin: fields.origin === null ? undefined : (JSON.parse(fields.origin) as Origin),
    ...(typeof fields.chain === 'string' && { chain: parseChain(fields.chain) }),
  };
}

function chainInfo({ count, start, hash }: ChainHead): NonNullable<SessionInfo['chain']> {
  return { count, start, hash };
}

/** Encodes the end of a chain. Each append stores it, so the text is short. */
function chainText({ count, start, hash, isWide }: ChainHead): string {
  return `${count} ${start} ${hash}${isWide ? ' wide' : ''}`;
}

function parseChain(text: string): ChainHead {
  const [count, start, hash = '', wide] = text.split(' ');
  const head = { count: Number(count), start: Number(start), hash };
  return wide === undefined ? head : { ...head, isWide: true };
}

/**
 * Parses a lease. A lease without expiry has the number `Infinity`. It is stored as a string, because JSON
 * has no such number.
 */
function parseLease(text: string): LeaseRow {
  const { expiresAt, ...lease } = JSON.parse(text) as LeaseRow;
  return { ...lease, expiresAt: Number(expiresAt) };
}
