import type { SessionInfo } from '../contract/session-info.ts';
import type { SessionRow } from '../shelf/rows.ts';
import { hasWork } from './open-work.ts';

export function sessionInfo(row: SessionRow): SessionInfo {
  const { session, through, createdAt, changedAt, isClosed, lease, epoch, origin } = row;
  return {
    session,
    through,
    createdAt,
    changedAt,
    isClosed,
    hasWork: hasWork(row),
    lease: lease && { holder: lease.holder, epoch, expiresAt: lease.expiresAt },
    origin,
    ...(row.isDamaged && { isDamaged: row.isDamaged }),
  };
}
