import { rereadDelta, Unreadable } from '../codec/reread.ts';
import type { ErrorPlace } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Delta } from '../protocol/delta.ts';
import { ProtocolError } from '../protocol/protocol-error.ts';

/** Refuses what no reader could read, whatever a caller without types made it of. */
export function assertReadable(delta: Delta, limits: Limits, place: ErrorPlace): void {
  try {
    rereadDelta(delta, limits);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    throw refused(error, delta, place);
  }
}

function refused({ refusal, path, cause }: Unreadable, { type }: Delta, place: ErrorPlace) {
  return new ProtocolError(refusal, `write ${type}`, { ...place, path }, { cause });
}
