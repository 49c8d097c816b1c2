import type { SessionId } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';

/** A session without records. `made` is a number that no session had before. */
export function newSession(session: SessionId, made: number, now: number): SessionRow {
  return {
    session,
    made,
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
