import type { SessionId } from '@millrace/core';
import { type Driver, type Log, LogError } from '@millrace/log';

/** Who takes a session for a step: one who lives longer than any process, and counts what he does. */
export interface Claim {
  /** The same for all steps, shown to whoever finds the session held. */
  readonly owner: string;
  /** One life of the owner: a new one takes over from an earlier one with its first step. */
  readonly life: string;
  /** Counts up from 1: a later step fences whatever is left of an earlier one. */
  readonly step: number;
  /** Tries at this step, from 1: a later one fences an earlier one, which may still be alive. */
  readonly attempt: number;
  /** How long it lasts after the last sign of life; until it is released or taken over, unless told. */
  readonly leaseMs?: number | undefined;
  /** It was taken already, and goes on: where somebody else has the session since, that is `fenced`. */
  readonly isHeld?: boolean | undefined;
}

/** Takes the session for a step, also from an earlier step or try of the same owner. */
export async function claimSession(
  log: Log,
  session: SessionId,
  claim: Claim,
  from: number,
): Promise<Driver> {
  const holder = (await log.info(session))?.lease?.holder ?? '';
  const isOwn = holder.startsWith(`${claim.owner} [`);
  const mayClaim = isOwn ? mayFollow(holder, claim) : !claim.isHeld;
  if (!mayClaim) throw overtaken(session, holder || 'somebody', claim);
  const { leaseMs = Number.POSITIVE_INFINITY } = claim;
  return log.open(session, {
    ...{ holder: holderOf(claim), leaseMs, isDetached: true },
    ...{ takeOver: isOwn, from },
  });
}

function holderOf({ owner, life, step, attempt }: Claim): string {
  return `${owner} [${life}] step ${step}.${attempt}`;
}

const form = /^.* \[(.*)\] step (\d+)\.(\d+)$/s;

/** Does the claim come after the one that the holder made? */
function mayFollow(holder: string, { life, step, attempt }: Claim): boolean {
  const [, itsLife, itsStep, itsAttempt] = form.exec(holder) ?? [];
  if (itsLife !== life) return step === 1;
  return step > Number(itsStep) || (step === Number(itsStep) && attempt > Number(itsAttempt));
}

function overtaken(session: SessionId, holder: string, claim: Claim): LogError {
  const message = `Cannot drive session ${session} as ${holderOf(claim)}: ${holder} came after it. Nothing was stored`;
  return new LogError('fenced', message, { session, holder });
}
