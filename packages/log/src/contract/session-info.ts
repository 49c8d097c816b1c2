import type { SessionId } from '@millrace/core';

export interface SessionInfo {
  readonly session: SessionId;
  readonly through: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Of its records; who drives it does not count. */
  readonly changedAt: number;
  readonly isClosed: boolean;
  /** A run, a turn or a command waits to be finished. */
  readonly hasWork: boolean;
  readonly lease: LeaseInfo | undefined;
  readonly origin: { readonly session: SessionId; readonly through: number } | undefined;
  /** What the store knows of it was changed by something else: all but its id is unknown. */
  readonly isDamaged?: true;
}

export interface LeaseInfo {
  readonly holder: string;
  readonly epoch: number;
  /** `Infinity` where it does not expire. */
  readonly expiresAt: number;
}

export interface SessionFilter {
  /** Those that wait for somebody to drive them: work to do, and no living holder. */
  readonly isWaiting?: boolean | undefined;
  readonly isClosed?: boolean | undefined;
  /** After this one, in the order of their ids. */
  readonly after?: SessionId | undefined;
  readonly limit?: number | undefined;
}
