import type { SessionId } from '@millrace/core';
import { type Driver, type Log, LogError } from '@millrace/log';
import type { Agent } from '../contract/agent.ts';
import { settingsOf } from '../run/agent-registry.ts';

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
  if (!mayClaim) throw overtakenClaim(session, holder || 'somebody', claim);
  const { leaseMs = Number.POSITIVE_INFINITY } = claim;
  return log.open(session, {
    ...{ holder: holderOf(claim), leaseMs, isDetached: true },
    ...{ takeOver: isOwn, from },
  });
}

function holderOf({ owner, life, step, attempt }: Claim): string {
  return `${owner} [${life}] step ${step}.${attempt}`;
}

const holderForm = /^.* \[(.*)\] step (\d+)\.(\d+)$/s;

/** Does the claim come after the one that the holder made? */
function mayFollow(holder: string, { life, step, attempt }: Claim): boolean {
  const [, itsLife, itsStep, itsAttempt] = holderForm.exec(holder) ?? [];
  if (itsLife !== life) return step === 1;
  return step > Number(itsStep) || (step === Number(itsStep) && attempt > Number(itsAttempt));
}

function overtakenClaim(session: SessionId, holder: string, claim: Claim): LogError {
  const message = `Cannot drive session ${session} as ${holderOf(claim)}: ${holder} came after it. Nothing was stored`;
  return new LogError('fenced', message, { session, holder });
}

export interface HoldStepOptions {
  readonly session: SessionId;
  readonly claim: Claim;
}

/** Takes a session before anything is said in it. Throws `held` where somebody else drives it. */
export async function holdStep(agent: Agent, { session, claim }: HoldStepOptions): Promise<void> {
  const driver = await claimSession(settingsOf(agent).log, session, claim, 0);
  driver.leave();
}

/** A session, and the lease that `advance` took for its owner. */
export interface HeldSession {
  readonly session: SessionId;
  readonly epoch: number;
  /** As it was claimed for; without end unless told. */
  readonly leaseMs?: number | undefined;
}

/** Goes on with that lease, in whichever process. */
export function openHeldSession({
  session,
  epoch,
  leaseMs = Number.POSITIVE_INFINITY,
}: HeldSession): (log: Log, from: number) => Promise<Driver> {
  return (log, from) => log.open(session, { epoch, leaseMs, from });
}

/**
 * Throws `no_session` where the one that was made then is not there any more: whoever went on would
 * find an empty one in its place, or another that has its name.
 */
export async function assertSameSession(
  log: Log,
  session: SessionId,
  createdAt: number | undefined,
): Promise<void> {
  if (createdAt === undefined) return;
  const info = await log.info(session);
  if (info?.createdAt === createdAt) return;
  const now = info === undefined ? 'it was deleted' : 'it was deleted, and another has its name';
  throw new LogError('no_session', `Cannot go on with session ${session}: ${now}`, { session });
}
