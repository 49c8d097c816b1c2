import {
  type Attempt,
  type DraftRecord,
  type RunId,
  type SessionId,
  type TraceContext,
  toArray,
} from '@millrace/core';
import type { Agent } from '../contract/agent.ts';
import { settingsOf } from '../run/agent-registry.ts';
import { RunLoop } from '../run/loop.ts';
import {
  isInterrupted,
  lostExecutions,
  recoveryDrafts,
  staleAbortDrafts,
} from '../run/recovery.ts';
import { queuedAborts } from '../state/commands.ts';
import { runStarted } from '../state/drafts.ts';
import { traceForNewRun } from '../state/run-trace.ts';
import { assertSameSession, type Claim, claimSession } from './claim.ts';
import { OpenStep, type StepSignals } from './open-step.ts';
import {
  type AdvanceResult,
  countRepairs,
  createPlan,
  createRunEnd,
  hasWork,
  isExternalAction,
  type Plan,
} from './plan.ts';
import { settledItemsFrom } from './settled-items.ts';

/** Options of `advance`. */
export interface AdvanceOptions extends StepSignals {
  readonly session: SessionId;
  readonly claim: Claim;
  /** The id of the run to drive. If no run is open, a run with this id starts. */
  readonly runId: RunId;
  /** The trace for the run, if the run starts here. Default: the trace of the queued message. */
  readonly trace?: TraceContext | undefined;
  /**
   * Keeps an interrupted answer as a partial answer. Set it if the request will not be repeated. Default:
   * false.
   */
  readonly keepsCut?: boolean | undefined;
  /**
   * Starts the run with a turn even without input. Set it if the caller itself provides the answer. Default:
   * false.
   */
  readonly startsTurn?: boolean | undefined;
  /**
   * A failed run that this run replaces. The output of the failed run is marked as superseded. Default: none.
   */
  readonly replaces?: RunId | undefined;
  /** If true, no run starts when there is no input to answer. Default: false. */
  readonly ifAsked?: boolean | undefined;
  /** The number of items that the caller already has. Default: the number of items before the run. */
  readonly items?: number | undefined;
  /**
   * The `createdAt` of an earlier step. If the session was deleted after that time, it is not created again.
   * Default: not checked.
   */
  readonly createdAt?: number | undefined;
}

/**
 * Drives a run to its end, or to the next work for a different process (a request or tool calls). A repeated
 * step continues after the records that its earlier attempt wrote. Earlier attempts at the step are fenced:
 * they can no longer write.
 */
export async function advance(agent: Agent, options: AdvanceOptions): Promise<AdvanceResult> {
  const { session, claim, signal, leave, context, runId } = options;
  const { log } = settingsOf(agent);
  await assertSameSession(log, session, options.createdAt);
  const step = await OpenStep.open({
    ...{ agent, session, signal, leave, context },
    open: (_log, from) => claimSession(log, session, claim, from),
  });
  let isDone = false;
  try {
    const plan = await driveRun(step, options);
    isDone = plan.do === 'done' || plan.do === 'idle';
    const { journal, runs, driver } = step;
    // Other runs may have ended after this run.
    const own = options.items === undefined && isDone ? runs.findFinished(runId) : undefined;
    const { before, after: state } = own ?? { before: runs.before, after: journal.state };
    const first = options.items ?? toArray(before.items).length;
    const settled = settledItemsFrom(state, first);
    const { epoch } = driver;
    const { through } = state;
    const createdAt = (await log.info(session))?.createdAt;
    return { epoch, plan, settled, items: first + settled.length, through, createdAt };
  } finally {
    // The lease is released between runs, so other drivers can take the session.
    await step.close(isDone ? 'releases' : 'keeps');
  }
}

async function driveRun(step: OpenStep, options: AdvanceOptions): Promise<Plan> {
  const { runId } = options;
  const { journal, context, runs } = step;
  const mended = abandonedWorkDrafts(step, options);
  if (mended.length > 0) await journal.write(mended);
  const loop = new RunLoop(context, { abort: () => step.abort() });
  step.onRecord = (record) => loop.onRecord(record);
  for (;;) {
    if (journal.loop.run === undefined) {
      const ended = runs.findFinished(runId);
      if (ended !== undefined) return { do: 'done', ...(await createRunEnd(step, ended)) };
      if (options.ifAsked && !hasWork(journal.loop)) return { do: 'idle' };
      await startRun(step, options);
    }
    const next = await loop.driveTo(isExternalAction, countRepairs(step));
    if ('do' in next) return createPlan(step, next);
  }
}

async function startRun(step: OpenStep, options: AdvanceOptions): Promise<void> {
  const { journal, context } = step;
  const { runId, trace, startsTurn = false, replaces } = options;
  const { turn: openTurn } = journal.loop;
  const runDraft = runStarted(runId, trace ?? traceForNewRun(journal.loop));
  context.phase.isAborting = false;
  const aborts = staleAbortDrafts(journal.loop, queuedAborts(journal.loop), () => runDraft);
  const turn = journal.loop.lastTurn + 1;
  const turnDraft = { turn, attempt: 0, fact: { type: 'turn_started' } } as const;
  const isNew = startsTurn && openTurn === undefined;
  const started = isNew ? [runDraft, turnDraft] : [runDraft];
  const superseding = replaces === undefined ? [] : supersedingDrafts(step, replaces);
  // An abort of a parked turn starts the run itself.
  const missing = aborts.includes(runDraft) ? [] : started;
  await journal.write([...superseding, ...aborts, ...missing]);
}

/**
 * Returns the records that end the work of a fenced process. An interrupted answer is closed only if it must
 * be kept. Otherwise the next request supersedes it.
 */
function abandonedWorkDrafts(
  { journal, settings }: OpenStep,
  { runId, keepsCut = false }: Pick<AdvanceOptions, 'runId' | 'keepsCut'>,
): readonly DraftRecord[] {
  const { state, loop } = journal;
  const { run, turn } = loop;
  if (turn === undefined) return [];
  const isKept = keepsCut || turn.isCompaction || run?.aborted !== undefined;
  if (isInterrupted(turn) && isKept) return recoveryDrafts(state, loop, 'keep');
  // If a different caller started the run, the agent's `onInterrupted` setting applies.
  if (isInterrupted(turn) && run?.id !== runId)
    return recoveryDrafts(state, loop, settings.onInterrupted);
  return lostExecutions(turn, state.session);
}

/**
 * Returns the records that mark all output of a failed run as superseded. Returns an empty list if input
 * arrived after that run, because the input may refer to the output.
 */
function supersedingDrafts({ journal, runs }: OpenStep, failed: RunId): readonly DraftRecord[] {
  const ended = runs.ended.at(-1);
  if (ended?.id !== failed) return [];
  const items = toArray(journal.state.items);
  const first = toArray(ended.before.items).length;
  if (items.length > toArray(ended.after.items).length) return [];
  const attempts = new Map<string, Attempt>();
  for (const { turn, attempt } of items.slice(first))
    if (attempt > 0) attempts.set(`${turn}.${attempt}`, { turn, attempt });
  const fact = { type: 'attempt_superseded', reason: 'tried again' } as const;
  const turns = new Set([...attempts.values()].map(({ turn }) => turn));
  // The `turn_finished` records are written again, because no further attempts follow.
  const finished = { type: 'turn_finished', stop: ended.stop } as const;
  return [
    ...[...attempts.values()].map((attempt) => ({ ...attempt, fact })),
    ...[...turns].map((turn) => ({ turn, attempt: 0, fact: finished })),
  ];
}
