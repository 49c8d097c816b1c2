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
