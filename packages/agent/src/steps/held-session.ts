import type { SessionId } from '@millrace/core';
import type { Driver, Log } from '@millrace/log';

/** A session, and the lease that `advance` took for its owner. */
export interface HeldSession {
  readonly session: SessionId;
  readonly epoch: number;
  /** As it was claimed for; without end unless told. */
  readonly leaseMs?: number | undefined;
}

/** Goes on with that lease, in whichever process. */
export function openHeld({
  session,
  epoch,
  leaseMs = Number.POSITIVE_INFINITY,
}: HeldSession): (log: Log, from: number) => Promise<Driver> {
  return (log, from) => log.open(session, { epoch, leaseMs, from });
}
