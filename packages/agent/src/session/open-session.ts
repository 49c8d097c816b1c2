import { isMillraceError, type SessionId } from '@millrace/core';
import { type Driver, type Log, sessionStates } from '@millrace/log';
import type { ParentCall } from '../contract/parent-call.ts';
import type { Settings } from '../contract/settings.ts';
import { loopFold } from '../state/fold-loop.ts';
import type { FoldedSession, SessionJournal } from './journal.ts';

/** An open session with its driver. */
export interface DrivenSession {
  readonly driver: Driver;
  /** The state before the driver's first batch. Undefined means the start of the session. */
  readonly from: FoldedSession | undefined;
}

/**
 * Maximum number of records that are read as one batch. A longer session is folded in pages before the lease
 * is taken, so that other work can run between the pages.
 */
const maxFirstBatch = 1000;

interface SessionOpening {
  /**
   * True if the session id was generated for this run. The log cannot contain the session, so no lookup is
   * needed.
   */
  readonly isNew: boolean;
  /** The tool call that runs this run's agent. Undefined if the agent is not a sub-agent. */
  readonly parent: ParentCall | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Opens the session of a run. For a sub-agent that continues, it may wait for the lease. */
export async function openSession(
  settings: Settings,
  session: SessionId,
  { isNew, parent, signal }: SessionOpening,
): Promise<DrivenSession> {
  const { log, clock } = settings;
  // A sub-agent reports the usage of all its records to its caller, so it must read all records.
  const open = () => takeSession(settings, session, parent === undefined && !isNew);
  if (!parent?.isContinued) return open();
  // The code loads on demand, because few agents have sub-agents.
  const { openContinued } = await import('./reopen-session.ts');
  return openContinued(open, session, { log, clock, parent, signal });
}

/**
 * Takes the lease of a session. If `mayStartLate` is true, it continues from a known state of the session, in
 * memory or stored. The cost of a new message then does not depend on the length of the session.
 */
async function takeSession(
  { log, name: holder }: Settings,
  session: SessionId,
  mayStartLate: boolean,
): Promise<DrivenSession> {
  const loaded = mayStartLate ? await loadSession(log, session) : undefined;
  if (loaded === undefined) return { driver: await log.open(session, { holder }), from: undefined };
  const { state, value: loop, incarnation } = loaded;
  try {
    const driver = await log.open(session, { holder, from: state.through, incarnation });
    return { driver, from: { state, loop } };
  } catch (error) {
    // After the session was read, the log was rewound or the session was deleted.
    const isReplaced = isMillraceError(error) && error.code === 'rewound';
    if (!isReplaced) throw error;
    sessionStates(log).forget(session);
    return { driver: await log.open(session, { holder }), from: undefined };
  }
}

/**
 * Returns the state of an existing session. Returns undefined if the session is short enough to be read as
 * one batch.
 */
async function loadSession(log: Log, session: SessionId) {
  const states = sessionStates(log);
  const kept = states.kept(session, loopFold);
  if (kept !== undefined) return kept;
  const info = await log.info(session);
  return info === undefined || info.through <= maxFirstBatch
    ? undefined
    : states.load(session, loopFold);
}

/** Keeps the final state of a run in memory, for the next run of the session. */
export function keepSession(log: Log, { incarnation }: Driver, journal: SessionJournal): void {
  const { state, loop: value, failure, hasRedaction } = journal;
  if (failure !== undefined || hasRedaction) sessionStates(log).forget(state.session);
  else sessionStates(log).keep(loopFold, { state, value, incarnation });
}
