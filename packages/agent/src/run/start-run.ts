import type { DraftRecord, Item, RunId, TraceContext } from '@millrace/core';
import { sessionStates } from '@millrace/log';
import type { QueuedCommand } from '../contract/command.ts';
import type { RunContext } from '../contract/run-context.ts';
import {
  findUsedId,
  interruptedStop,
  itemDrafts,
  mayBeUsedBefore,
  runStarted,
} from '../state/drafts.ts';
import { traceForNewRun } from '../state/run-trace.ts';
import type { CommandSender } from './command-sender.ts';
import type { RunLoop } from './loop.ts';
import { itemIdUsed } from './run-errors.ts';

interface RunStart {
  readonly context: RunContext;
  readonly loop: RunLoop;
  readonly commands: CommandSender;
  /** The input of the run. Empty if the run only continues a session. */
  readonly newItems: readonly Item[];
  /** Queued aborts that were for an earlier run. */
  readonly stale: readonly QueuedCommand[];
  /** True if this is the run of a sub-agent whose session an earlier process or run has started. */
  readonly isContinued: boolean;
  /** If true, the input joins an open run that is between turns. */
  readonly joinsOpenRun: boolean;
  readonly trace: TraceContext | undefined;
  /** The id of the run if it is a new one. */
  readonly newId: RunId;
  /**
   * Called when the run's own records begin. If an earlier run has to be ended first, it is called before
   * that without an offset.
   */
  readonly onBegin: (through?: number) => void;
  /** Called with the id of the open run if the session has one. It then continues. */
  readonly onOpenRun: (id: RunId) => void;
}

/**
 * Recovers the work that a dead driver left open, and writes the start of the run and its input. An
 * interrupted run continues. If there is new input, that run is driven to its end first.
 */
export async function startRun(start: RunStart): Promise<void> {
  const { loop, commands, newItems, isContinued, joinsOpenRun, trace } = start;
  const { journal, settings, phase } = start.context;
  const { through: opened } = journal.state;
  await assertNewIds(start.context, settings, newItems);
  // The caller of a sub-agent needs a complete answer.
  const onInterrupted = isContinued ? 'retry' : settings.onInterrupted;
  await recover(journal, start.stale, onInterrupted, () => {
    // New input gets a run of its own after the one that only ends a parked turn.
    if (newItems.length > 0) return runStarted(settings.ids.run(), traceForNewRun(journal.loop));
    return runStarted(start.newId, trace ?? traceForNewRun(journal.loop));
  });
  const isKept = journal.loop.turn?.stop?.cause === interruptedStop.cause;
  const mayJoin = joinsOpenRun && journal.loop.turn === undefined;
  const isNew = newItems.length > 0 && !mayJoin;
  const hasCommands = journal.loop.commands.length > 0;
  const isAwaited = isNew || (isKept && hasCommands);
  if (journal.loop.run !== undefined && isAwaited) {
    start.onBegin();
    await loop.drive();
    start.onBegin(journal.state.through);
  } else start.onBegin(opened);
  const { run, turn } = journal.loop;
  if (run !== undefined) start.onOpenRun(run.id);
  // Input that arrives while a call waits for an approval is answered after the call.
  if (turn !== undefined && newItems.length > 0)
    await commands.submit({ type: 'message', when: 'follow_up', items: newItems, trace });
  const items = turn === undefined ? itemDrafts(newItems, settings.ids) : [];
  const started =
    run === undefined ? [runStarted(start.newId, trace ?? traceForNewRun(journal.loop))] : [];
  // The run was aborted before the previous run had ended.
  const stopped = run === undefined && phase.isAborting ? [abortedDraft] : [];
  await journal.write([...started, ...items, ...stopped]);
}

const abortedDraft: DraftRecord = { turn: 0, attempt: 0, fact: { type: 'aborted' } };

/** Throws if an item has an id that the session already uses. */
async function assertNewIds(
  { journal, session }: RunContext,
  { log }: RunContext['settings'],
  newItems: readonly Item[],
): Promise<void> {
  const isUnsure = newItems.some(({ id }) => mayBeUsedBefore(id, journal.state));
  const { state: known } = isUnsure ? await sessionStates(log).load(session) : journal;
  const used = findUsedId(newItems, known);
  if (used !== undefined) throw itemIdUsed(session, used);
}

/** Writes the records that end interrupted work and remove stale aborts. */
async function recover(
  journal: RunContext['journal'],
  stale: readonly QueuedCommand[],
  onInterrupted: RunContext['settings']['onInterrupted'],
  newRun: () => DraftRecord,
): Promise<void> {
  const { state, loop: found } = journal;
  if (found.turn === undefined && stale.length === 0) return;
  // A session that was closed properly needs no recovery, so the code loads on demand.
  const { recoveryDrafts, staleAbortDrafts } = await import('./recovery.ts');
  // An interrupted answer is not retried if the run was aborted.
  const isStopped = found.run?.aborted !== undefined || stale.length > 0;
  const mended = recoveryDrafts(state, found, isStopped ? 'keep' : onInterrupted);
  const opening = [...mended, ...staleAbortDrafts(found, stale, newRun)];
  if (opening.length > 0) await journal.write(opening);
}
