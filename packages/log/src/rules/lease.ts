import type { OpenOptions } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { LeaseRow, ProcessMark, SessionRow } from '../shelf/rows.ts';

export interface LeaseAsk extends OpenOptions {
  readonly holder: string;
  readonly leaseMs: number;
  readonly process: ProcessMark | undefined;
  readonly now: number;
  /** One that no driver had before, of whichever session: names are used again. */
  readonly nextEpoch: () => number;
  /** Does the process that holds the lease still run? Undefined where nobody here can tell. */
  readonly isAlive: (process: ProcessMark) => boolean | undefined;
}

/** The row with a new driver. Throws `held` where there is one that may be alive. */
export function takeLease(row: SessionRow, ask: LeaseAsk): SessionRow {
  if (row.isClosed) throw closedError(row);
  const { lease } = row;
  if (lease !== undefined && !ask.takeOver && isHeld(lease, ask))
    throw heldError(row, lease, ask.now);
  const { holder, process, now, leaseMs } = ask;
  const expiresAt = now + leaseMs;
  return { ...row, epoch: ask.nextEpoch(), lease: { holder, process, expiresAt } };
}

/** The row with the lease that the epoch has already, for longer. */
export function renewLease(
  row: SessionRow | undefined,
  { session, epoch, leaseMs, now }: Pick<LeaseAsk, 'leaseMs' | 'now'> & HeldEpoch,
): SessionRow {
  assertDrives(row, epoch, session);
  return { ...row, lease: row.lease && { ...row.lease, expiresAt: now + leaseMs } };
}

interface HeldEpoch {
  readonly session: string;
  readonly epoch: number;
}

/** Is there a holder who might still write? */
export function isHeld(
  lease: LeaseRow,
  { now, isAlive }: Pick<LeaseAsk, 'now' | 'isAlive'>,
): boolean {
  const runs = lease.process === undefined ? undefined : isAlive(lease.process);
  return lease.expiresAt > now && runs !== false;
}

/** Throws `fenced` unless this is the epoch that drives. */
export function assertDrives(
  row: SessionRow | undefined,
  epoch: number,
  session: string,
): asserts row is SessionRow {
  if (row === undefined) throw deletedError(session);
  if (row.isClosed) throw closedError(row);
  if (row.epoch !== epoch || row.lease === undefined) throw fencedError(row, epoch);
}

function heldError({ session, epoch }: SessionRow, lease: LeaseRow, now: number): LogError {
  const until = Number.isFinite(lease.expiresAt)
    ? `its lease ends in ${Math.max(0, lease.expiresAt - now)} ms unless it is renewed`
    : 'its lease does not end by itself';
  const message = `Cannot drive session ${session}: ${lease.holder} does, epoch ${epoch}; ${until}. Wait, or open it with takeOver`;
  return new LogError('held', message, { session, epoch, holder: lease.holder });
}

export function unknownSession(session: string): LogError {
  return new LogError('no_session', `Cannot find session ${session}`, { session });
}

export function deletedError(session: string): LogError {
  const message = `Cannot append to session ${session}: it was deleted`;
  return new LogError('no_session', message, { session });
}

export function fencedError({ session, epoch, lease }: SessionRow, own: number): LogError {
  const now =
    lease === undefined ? 'nobody drives it' : `${lease.holder} drives it, epoch ${epoch}`;
  const message = `Cannot append to session ${session} as epoch ${own}: ${now}. Nothing was stored; open it again`;
  return new LogError('fenced', message, { session, epoch, own });
}

export function closedError({ session }: Pick<SessionRow, 'session'>): LogError {
  return new LogError(
    'session_closed',
    `Cannot append to session ${session}: it is closed. Fork it to go on`,
    { session },
  );
}
