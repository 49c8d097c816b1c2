import type { SessionId } from '@millrace/core';

/** Bounds on what is kept in Redis, and on what waits for it. */
export interface BusLimits {
  /** Entries of a session's stream, about. */
  readonly maxLength: number;
  /** Of the records of one notice; a larger one goes without them, and readers look at the store. */
  readonly maxBytes: number;
  /** A stream goes so long after its last entry. */
  readonly expiresMs: number;
  /** A server that says nothing for so long is taken as gone. */
  readonly timeoutMs: number;
  /** What was sent and not answered; more than that is not sent. */
  readonly maxPendingBytes: number;
}

export const defaultBusLimits: BusLimits = {
  maxLength: 256,
  maxBytes: 64 * 1024,
  expiresMs: 600_000,
  timeoutMs: 3_000,
  maxPendingBytes: 8 * 2 ** 20,
};

/** What somebody who runs it may want to know. Nothing is lost by any of it but time. */
export interface BusDiagnostic {
  readonly code: /** Redis does not answer; readers look at the store meanwhile. Told once, until it does again. */
    | 'unreachable'
    | 'reachable'
    /** Copies went without their records, or not at all: Redis is too slow, or full. */
    | 'dropped'
    /** Something in Redis is not ours, or not whole. */
    | 'unreadable'
    /** Redis lost what it had. */
    | 'flushed';
  readonly message: string;
}

export type OnBusDiagnostic = (diagnostic: BusDiagnostic) => void;

/** What one process has in Redis, by name. */
export interface BusKeys {
  /** The stream of a session, which all processes share. */
  stream(session: SessionId): string;
  /** A stream of this process's own, which wakes its reader. */
  readonly wake: string;
  /** Is there as long as Redis lost nothing and this process reads. */
  readonly mark: string;
  /** Who published an entry. */
  readonly origin: string;
}

export function busKeys(prefix: string): BusKeys {
  const origin = crypto.randomUUID();
  return {
    stream: (session) => `${prefix}log:${session}`,
    wake: `${prefix}wake:${origin}`,
    mark: `${prefix}mark:${origin}`,
    origin,
  };
}
