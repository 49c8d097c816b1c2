import type { SessionId } from '@millrace/core';

/** Limits for the data in Redis and for pending commands. */
export interface BusLimits {
  /** Approximate number of entries per session stream. Default: 256. */
  readonly maxLength: number;
  /**
   * Maximum size of the records in one notice, in bytes. A larger notice is sent without records, and
   * followers read the store instead. Default: 64 KiB.
   */
  readonly maxBytes: number;
  /** The lifetime of a stream after its last entry, in milliseconds. Default: 600,000 (10 minutes). */
  readonly expiresMs: number;
  /**
   * The time to wait for an answer, in milliseconds. After this time, the connection counts as lost. Default:
   * 3,000.
   */
  readonly timeoutMs: number;
  /**
   * Maximum number of bytes that were sent and not yet answered. Above this number, notices are dropped.
   * Default: 8 MiB.
   */
  readonly maxPendingBytes: number;
}

export const defaultBusLimits: BusLimits = {
  maxLength: 256,
  maxBytes: 64 * 1024,
  expiresMs: 600_000,
  timeoutMs: 3_000,
  maxPendingBytes: 8 * 2 ** 20,
};

/**
 * A diagnostic message of the bus, for operators. In all these cases, no records are lost. Followers only
 * receive the records later.
 */
export interface BusDiagnostic {
  readonly code: /** Redis does not answer. Followers read the store during this time. Reported once per outage. */
    | 'unreachable'
    | 'reachable'
    /** Notices were sent without records or not at all, because Redis is too slow or full. */
    | 'dropped'
    /** Redis contains an entry that is not a valid notice. */
    | 'unreadable'
    /** Redis lost its data. */
    | 'flushed';
  /** A text for operators. */
  readonly message: string;
}

export type OnBusDiagnostic = (diagnostic: BusDiagnostic) => void;

/** The Redis keys that one process uses. */
export interface BusKeys {
  /** Returns the key of a session's stream. All processes share this stream. */
  stream(session: SessionId): string;
  /** The key of a stream that only this process reads. A new entry wakes its reader. */
  readonly wake: string;
  /** A key that disappears if Redis loses its data, or if this process stops reading. */
  readonly mark: string;
  /** The id of the publishing process. */
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
