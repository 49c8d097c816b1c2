import { Folder, isMillraceError, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import { wait } from '../abortable.ts';
import { AgentError } from '../contract/agent-error.ts';
import { emptyLoopState } from '../contract/loop-state.ts';
import type { ParentCall } from '../contract/parent-call.ts';
import { foldLoop } from '../state/fold-loop.ts';
import { type FoldedSession, notFoldable } from './journal.ts';

/**
 * The maximum time, in milliseconds, for which a continued sub-agent waits. It waits until the lease of the
 * previous process expires.
 */
const maxHeldMs = 60_000;
const heldPollMs = 250;

interface ContinuedSession {
  readonly log: Log;
  readonly clock: Clock;
  /** The tool call that runs the sub-agent. */
  readonly parent: ParentCall;
  readonly signal: AbortSignal | undefined;
}

/**
 * Opens the session of a sub-agent that continues. It waits while a different process holds the lease. If
 * that process died, its lease expires only after some time.
 */
export async function openContinued<Opened>(
  open: () => Promise<Opened>,
  session: SessionId,
  { log, clock, parent, signal }: ContinuedSession,
): Promise<Opened> {
  // A sub-agent can use a different log than its caller. If that log does not have the session, the outcome
  // is unknown. On the caller's own log, a missing session means that the sub-agent never started.
  if (log !== parent.log && (await log.info(session)) === undefined) throw outcomeUnknown(session);
  const stopped = AbortSignal.any([parent.leave, ...(signal ? [signal] : [])]);
  for (let waitedMs = 0; ; waitedMs += heldPollMs) {
    try {
      return await open();
    } catch (error) {
      const isHeld = isMillraceError(error) && error.code === 'held';
      if (!isHeld || stopped.aborted || waitedMs >= maxHeldMs) throw error;
      await wait(clock, heldPollMs, stopped);
    }
  }
}

function outcomeUnknown(session: SessionId): AgentError {
  const message = `Cannot continue session ${session} of the sub-agent: its log does not have it, and nobody knows what was done. Create the sub-agent with the log of its caller`;
  return new AgentError('no_such_session', message, { session });
}

/** Computes the state of a session from its start up to an offset. */
export async function refold(
  log: Log,
  session: SessionId,
  through: number,
): Promise<FoldedSession> {
  const folder = new Folder(session);
  let loop = emptyLoopState;
  while (folder.state.through < through) {
    const { after, ...page } = await log.read(session, { from: folder.state.through });
    const records = page.records.filter(({ offset }) => offset <= through);
    for (const record of records) loop = foldLoop(loop, record);
    const end = Math.min(page.through, through);
    const { outcome } = folder.addBatch({ after, through: end, records });
    if (outcome !== 'applied') throw notFoldable({ after, through: end }, outcome);
  }
  return { state: folder.state, loop };
}
