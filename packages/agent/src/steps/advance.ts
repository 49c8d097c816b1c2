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
import { isInterrupted, lostExecutions, recoveryDrafts } from '../run/recovery.ts';
import { commandConsumed, runStarted } from '../state/drafts.ts';
import { traceForNewRun } from '../state/run-trace.ts';
import { assertSameSession, type Claim, claimSession } from './claim.ts';
import { OpenStep, type StepSignals } from './open-step.ts';
import {
  type Advanced,
  countRepairs,
  createPlan,
  createRunEnd,
  hasWork,
  isExternalAction,
  type Plan,
} from './plan.ts';
import { settledItemsFrom } from './settled-items.ts';

export interface AdvanceOptions extends StepSignals {
  readonly session: SessionId;
  readonly claim: Claim;
  /** The run that is to be driven to its end. It begins when no other one goes on. */
  readonly runId: RunId;
  readonly trace?: TraceContext | undefined;
  /** Nobody will ask again for the answer that was cut off: what came of it is kept. */
  readonly keepsCut?: boolean | undefined;
  /** The run begins with a turn, also where nothing was said: the answer is the caller's own. */
  readonly startsTurn?: boolean | undefined;
  /** A run of the caller's that failed, and that this one does again: what it said is superseded. */
  readonly replaces?: RunId | undefined;
  /** Where nothing waits to be answered, no run is begun. */
  readonly ifAsked?: boolean | undefined;
  /** How many items the caller has; those since the run began, unless told. */
  readonly items?: number | undefined;
  /** As an earlier step gave it: a session that was deleted since is not made again. */
  readonly createdAt?: number | undefined;
}

/**
 * Drives a run to the next thing that is to be done elsewhere, a request or calls, or to its end. Done
 * again it finds what it did, and goes on; what is left of an earlier try is fenced.
 */
export async function advance(agent: Agent, options: AdvanceOptions): Promise<Advanced> {
  const { session, claim, signal, leave, runId } = options;
  const { log } = settingsOf(agent);
  await assertSameSession(log, session, options.createdAt);
  const step = await OpenStep.open({
    ...{ agent, session, signal, leave },
    open: (_log, from) => claimSession(log, session, claim, from),
  });
  let isDone = false;
  try {
    const plan = await driveRun(step, options);
    isDone = plan.do === 'done' || plan.do === 'idle';
    const { journal, runs, driver } = step;
    // Others may have had runs since the one that is over.
    const own = options.items === undefined && isDone ? runs.findFinished(runId) : undefined;
    const { before, after: state } = own ?? { before: runs.before, after: journal.state };
    const first = options.items ?? toArray(before.items).length;
    const settled = settledItemsFrom(state, first);
    const { epoch } = driver;
    const { through } = state;
    const createdAt = (await log.info(session))?.createdAt;
    return { epoch, plan, settled, items: first + settled.length, through, createdAt };
  } finally {
    // Between runs the session is anybody's.
    await step.close(isDone ? 'releases' : 'keeps');
  }
}

async function driveRun(step: OpenStep, options: AdvanceOptions): Promise<Plan> {
  const { runId } = options;
  const { journal, context, runs } = step;
  const mended = abandonedWorkDrafts(step, options);
  if (mended.length > 0) await journal.write(mended);
  const loop = new RunLoop(context, () => step.abort());
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
  const { turn: left, commands } = journal.loop;
  // They meant a run that is over; a turn that it left open ends by them.
  const stale = commands.filter(({ command }) => command.type === 'abort' && left === undefined);
  const started = runStarted(runId, trace ?? traceForNewRun(journal.loop));
  context.phase.isAborting = false;
  const turn = journal.loop.lastTurn + 1;
  const turned = { turn, attempt: 0, fact: { type: 'turn_started' } } as const;
  const isNew = startsTurn && left === undefined;
  const begun = isNew ? [started, turned] : [started];
  const superseding = replaces === undefined ? [] : supersedingDrafts(step, replaces);
  await journal.write([...stale.map(({ key }) => commandConsumed(key)), ...superseding, ...begun]);
}

/**
 * What is written first, because nobody works on it any more: whoever did was fenced by the one who
 * comes now. An answer that was cut off is asked for again, which supersedes it, unless it is to be kept.
 */
export function abandonedWorkDrafts(
  { journal, settings }: OpenStep,
  { runId, keepsCut = false }: Pick<AdvanceOptions, 'runId' | 'keepsCut'>,
): readonly DraftRecord[] {
  const { state, loop } = journal;
  const { run, turn } = loop;
  if (turn === undefined) return [];
  const isKept = keepsCut || turn.isCompaction || run?.aborted !== undefined;
  if (isInterrupted(turn) && isKept) return recoveryDrafts(state, loop, 'keep');
  // Another one's run: what becomes of it is as the agent has it.
  if (isInterrupted(turn) && run?.id !== runId)
    return recoveryDrafts(state, loop, settings.onInterrupted);
  return lostExecutions(turn);
}

/**
 * What is written first where a run that failed is done again: all that it said is taken back. Where
 * somebody spoke after it that stays, because it may have been answered.
 */
export function supersedingDrafts(
  { journal, runs }: OpenStep,
  failed: RunId,
): readonly DraftRecord[] {
  const ended = runs.ended.at(-1);
  if (ended?.id !== failed) return [];
  const items = toArray(journal.state.items);
  const first = toArray(ended.before.items).length;
  if (items.length > toArray(ended.after.items).length) return [];
  const tries = new Map<string, Attempt>();
  for (const { turn, attempt } of items.slice(first))
    if (attempt > 0) tries.set(`${turn}.${attempt}`, { turn, attempt });
  const fact = { type: 'attempt_superseded', reason: 'tried again' } as const;
  const turns = new Set([...tries.values()].map(({ turn }) => turn));
  // The turns are over again: no other try of them comes.
  const over = { type: 'turn_finished', stop: ended.stop } as const;
  return [
    ...[...tries.values()].map((tried) => ({ ...tried, fact })),
    ...[...turns].map((turn) => ({ turn, attempt: 0, fact: over })),
  ];
}
