import type { SessionId } from '@millrace/core';

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
