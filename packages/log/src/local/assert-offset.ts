import { LogError } from '../contract/log-error.ts';
import type { SessionRow } from '../shelf/rows.ts';

/** Throws `bad_offset` for one that the session never had. */
export function assertOffset(
  { session, through }: Pick<SessionRow, 'session' | 'through'>,
  offset: number,
): void {
  if (Number.isInteger(offset) && offset >= 0 && offset <= through) return;
  const message = `Cannot read session ${session} after offset ${offset}: it has 0 to ${through}`;
  throw new LogError('bad_offset', message, { session, offset, through });
}
