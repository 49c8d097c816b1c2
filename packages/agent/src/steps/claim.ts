import type { SessionId } from '@millrace/core';
import { type Driver, type Log, LogError } from '@millrace/log';
import type { Agent } from '../contract/agent.ts';
import { settingsOf } from '../run/agent-registry.ts';

/**
 * Identifies the owner of a session across processes, and the owner's current step. An owner is, for example,
 * a workflow.
 */
export interface Claim {
  /**
   * The name of the owner. It is the same for all steps. Other processes see it when they cannot take the
   * lease.
   */
  readonly owner: string;
  /**
   * Identifies one start of the owner, for example one start of a workflow. The first step after a new start
   * takes the session over from the previous start.
   */
  readonly life: string;
  /** The number of the step, starting with 1. A later step fences an earlier step. */
  readonly step: number;
  /**
   * The number of the attempt at this step, starting with 1. A later attempt fences an earlier attempt that
   * may still run.
   */
  readonly attempt: number;
  /**
   * The time for which the lease lasts without renewal. Default: no expiry, so the lease lasts until it is
   * released or taken over.
   */
  readonly leaseMs?: number | undefined;
  /**
   * True if the owner already holds the session. If a different owner has taken the session in the meantime,
   * the step fails with `fenced`. Default: false.
   */
  readonly isHeld?: boolean | undefined;
}

/**
 * Takes the lease of the session for a step. It can also take the lease from an earlier step or attempt of
 * the same owner.
 */
export async function claimSession(
  log: Log,
  session: SessionId,
  claim: Claim,
  from: number,
): Promise<Driver> {
  const holder = (await log.info(session))?.lease?.holder ?? '';
  const isOwn = holder.startsWith(`${claim.owner} [`);
  const mayClaim = isOwn ? mayFollow(holder, claim) : !claim.isHeld;
  if (!mayClaim) throw overtakenClaim(session, holder || 'another owner', claim);
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

/** Returns true if the claim is later than the claim of the current holder. */
function mayFollow(holder: string, { life, step, attempt }: Claim): boolean {
  const [, itsLife, itsStep, itsAttempt] = holderForm.exec(holder) ?? [];
  if (itsLife !== life) return step === 1;
  return step > Number(itsStep) || (step === Number(itsStep) && attempt > Number(itsAttempt));
}

function overtakenClaim(session: SessionId, holder: string, claim: Claim): LogError {
  const message = `Cannot drive session ${session} as ${holderOf(claim)}: ${holder} has taken it since. Nothing was stored`;
  return new LogError('fenced', message, { session, holder });
}

/** Options of `holdStep`. */
export interface HoldStepOptions {
  readonly session: SessionId;
  readonly claim: Claim;
}

/**
 * Takes the lease of a session before a message is submitted to it. Throws `held` if a different owner drives
 * the session.
 */
export async function holdStep(agent: Agent, { session, claim }: HoldStepOptions): Promise<void> {
  const driver = await claimSession(settingsOf(agent).log, session, claim, 0);
  driver.detach();
}

/** A session, with the lease that `advance` took for its owner. */
export interface HeldSession {
  readonly session: SessionId;
  /** The epoch of the lease. `advance` returns it. */
  readonly epoch: number;
  /** The `leaseMs` of the owner's claim. Default: no expiry. */
  readonly leaseMs?: number | undefined;
}

/**
 * Returns a function that opens the session with the lease of its owner. The function works in any process.
 */
export function openHeldSession({
  session,
  epoch,
  leaseMs = Number.POSITIVE_INFINITY,
}: HeldSession): (log: Log, from: number) => Promise<Driver> {
  return (log, from) => log.open(session, { epoch, leaseMs, from });
}

/**
 * Throws `no_session` if the session with this creation time no longer exists. Without this check, the step
 * would continue in an empty session, or in a new session with the same id.
 */
export async function assertSameSession(
  log: Log,
  session: SessionId,
  createdAt: number | undefined,
): Promise<void> {
  if (createdAt === undefined) return;
  const info = await log.info(session);
  if (info?.createdAt === createdAt) return;
  const now =
    info === undefined ? 'it was deleted' : 'it was deleted, and another session has its id';
  throw new LogError('no_session', `Cannot continue session ${session}: ${now}`, { session });
}
