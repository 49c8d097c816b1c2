import { isMillraceError, type SessionId } from '@millrace/core';
import { nextTask } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { readPages } from './read-session.ts';

/** A retention policy. `retain` keeps everything that the policy does not mention. */
export interface RetentionPolicy {
  /**
   * Number of most recent turns per session that keep their deltas. Earlier turns are settled.
   * Default: all turns.
   */
  readonly turnsWithDeltas?: number | undefined;
  /**
   * A time in milliseconds since 1970. `retain` deletes sessions that have not changed since this time. It
   * never deletes a session that has a driver or open work. Default: no session is deleted.
   */
  readonly changedBefore?: number | undefined;
}

/** The result of `retain`. */
export interface RetentionResult {
  /** Number of turns that were settled. */
  readonly settledTurns: number;
  /** Number of sessions that were deleted. */
  readonly deletedSessions: number;
}

/** The number of sessions per page. Other work of the process can run between two pages. */
const pageLength = 100;

/**
 * Applies a retention policy to all sessions. Call it regularly, from one process or from several.
 *
 * @example
 * const ninetyDaysAgo = Date.now() - 90 * 24 * 3_600_000;
 * await retain(log, { turnsWithDeltas: 10, changedBefore: ninetyDaysAgo });
 */
export async function retain(log: Log, policy: RetentionPolicy): Promise<RetentionResult> {
  const { turnsWithDeltas = Number.POSITIVE_INFINITY } = policy;
  const { changedBefore = Number.NEGATIVE_INFINITY } = policy;
  assertCount(turnsWithDeltas);
  let [settledTurns, deletedSessions] = [0, 0];
  for await (const info of allSessions(log)) {
    if (info.isDamaged) continue;
    const isOld = info.changedAt < changedBefore;
    if (isOld && (await skipIfBusy(() => deleteIdle(log, info), false))) deletedSessions++;
    else if (turnsWithDeltas < Number.POSITIVE_INFINITY)
      settledTurns += await skipIfBusy(() => settleOldTurns(log, info, turnsWithDeltas), 0);
  }
  return { settledTurns, deletedSessions };
}

async function* allSessions(log: Log): AsyncGenerator<SessionInfo> {
  let after: SessionId | undefined;
  for (;;) {
    const page = await log.list({ after, limit: pageLength });
    yield* page;
    if (page.length < pageLength) return;
    after = page.at(-1)?.session;
  }
}

async function deleteIdle(log: Log, info: SessionInfo): Promise<boolean> {
  const { session, through, hasWork, isClosed } = info;
  if (hasWork) return false;
  // The lease prevents another process from driving the session during the deletion.
  const driver = isClosed ? undefined : await log.open(session, { holder: 'retention' });
  const isDeleted = await log.delete(session, { ifThrough: through });
  if (!isDeleted) await driver?.release();
  return isDeleted;
}

/** The offsets of the first and last record of a turn, and data about the records of the turn. */
interface TurnRange {
  first: number;
  last: number;
  hasDeltas: boolean;
  isFinished: boolean;
}

/**
 * Settles all turns except the last `count` turns. Returns the number of turns that it settled. It starts
 * at the first turn that no earlier call in this process has settled. Other work of the process can run
 * between two turns.
 */
async function settleOldTurns(log: Log, info: SessionInfo, count: number): Promise<number> {
  const { session } = info;
  const turns = await scanTurns(log, info, settledThrough(log, info));
  const inOrder = [...turns].sort(([a], [b]) => a - b);
  let settled = 0;
  for (const [turn, range] of inOrder.slice(0, Math.max(0, inOrder.length - count))) {
    const { first, last, hasDeltas, isFinished } = range;
    if (hasDeltas && isFinished) {
      if (await log.settle(session, turn, { within: [first, last] })) settled++;
      await nextTask();
    }
    if (isFinished) turns.delete(turn);
  }
  let next = info.through + 1;
  for (const { first } of turns.values()) next = Math.min(next, first);
  noteSettled(log, info, next - 1);
  return settled;
}

async function scanTurns(
  log: Log,
  { session, through }: SessionInfo,
  after: number,
): Promise<Map<number, TurnRange>> {
  const turns = new Map<number, TurnRange>();
  for await (const { records } of readPages(log, { session, through }, after)) {
    for (const { turn, offset, delta, fact } of records) {
      if (turn === 0) continue;
      const range = turns.get(turn) ?? newTurnRange(offset);
      turns.set(turn, range);
      range.last = offset;
      range.hasDeltas ||= delta !== undefined;
      range.isFinished ||= fact?.type === 'turn_finished';
    }
    await nextTask();
  }
  return turns;
}

function newTurnRange(offset: number): TurnRange {
  return { first: offset, last: offset, hasDeltas: false, isFinished: false };
}

/** The maximum number of sessions per log in `settledSessions`. */
const maxRemembered = 10_000;
/**
 * For each session, the offset up to which all turns are settled. The key is the session's incarnation,
 * because no other session of the log has it.
 */
const settledSessions = new WeakMap<Log, Map<string, number>>();

/**
 * Returns the offset up to which earlier calls settled every turn. Returns 0 if there was no earlier call.
 */
function settledThrough(log: Log, info: SessionInfo): number {
  return Math.min(settledSessions.get(log)?.get(info.incarnation) ?? 0, info.through);
}

function noteSettled(log: Log, info: SessionInfo, through: number): void {
  const known = settledSessions.get(log) ?? new Map<string, number>();
  settledSessions.set(log, known);
  known.delete(info.incarnation);
  known.set(info.incarnation, through);
  const [oldest] = known.keys();
  if (known.size > maxRemembered && oldest !== undefined) known.delete(oldest);
}

/**
 * Runs `work` and returns its result. Returns `otherwise` if another process opened, closed or deleted the
 * session after it was listed.
 */
async function skipIfBusy<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isBusy =
      isMillraceError(error) && ['held', 'no_session', 'session_closed'].includes(error.code);
    if (isBusy) return otherwise;
    throw error;
  }
}

function assertCount(turns: number): void {
  if (turns >= 0) return;
  const message = `Cannot keep the deltas of ${turns} turns: the number must be 0 or more`;
  throw new LogError('bad_option', message, { turnsWithDeltas: turns });
}
