import type { DraftRecord, Item, RunId, TraceContext } from '@millrace/core';
import { sessionStates } from '@millrace/log';
import type { QueuedCommand } from '../contract/command.ts';
import type { LoopState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Settings } from '../contract/settings.ts';
import {
  findUsedId,
  interruptedStop,
  itemDrafts,
  mayBeUsedBefore,
  runStarted,
} from '../state/drafts.ts';
import { traceForNewRun } from '../state/run-trace.ts';
import { type AgentRegistry, activeSettings } from './agent-registry.ts';
import type { CommandSender } from './command-sender.ts';
import type { RunFault, RunLoop } from './loop.ts';
import { itemIdUsed } from './run-errors.ts';

interface RunStart {
  readonly context: RunContext;
  readonly loop: RunLoop;
  readonly commands: CommandSender;
  /** The input of the run. Empty if the run only continues a session. */
  readonly newItems: readonly Item[];
  /** Queued aborts that were meant for an earlier run. */
  readonly stale: readonly QueuedCommand[];
  /** True if this is the run of a sub-agent and an earlier process or run has already started its session. */
  readonly isContinued: boolean;
  /** If true, the input becomes part of an open run that is between turns. */
  readonly joinsOpenRun: boolean;
  readonly trace: TraceContext | undefined;
  /** The id for a new run. It is not used if an open run continues. */
  readonly newId: RunId;
  /**
   * Called when the run's own records begin, with the offset before them. If an earlier run must be ended
   * first, it is also called before that, without an offset.
   */
  readonly onBegin: (through?: number) => void;
  /** Called with the id of the open run if the session has one. The open run then continues. */
  readonly onOpenRun: (id: RunId) => void;
}

/**
 * Recovers the unfinished work of a driver that died, and writes the start of the run and its input. An
 * interrupted run continues. If there is new input, the interrupted run is first driven to its end.
 */
export async function startRun(start: RunStart): Promise<void> {
  const { loop, commands, newItems, isContinued, joinsOpenRun, trace } = start;
  const { journal, settings, phase } = start.context;
  const { through: opened } = journal.state;
  await assertNewIds(start.context, settings, newItems);
  // A sub-agent continues because its caller needs a complete answer, so an interrupted answer is retried.
  const onInterrupted = isContinued ? 'retry' : settings.onInterrupted;
  await recover(journal, start.stale, { ...settings, onInterrupted }, () => {
    // One run only ends the parked turn. The new input then gets a separate run.
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
  // A call waits for an approval, so the new input is answered after that call.
  if (turn !== undefined && newItems.length > 0)
    await commands.submit({ type: 'message', when: 'follow_up', items: newItems, trace });
  const items = turn === undefined ? itemDrafts(newItems, settings.ids) : [];
  const started =
    run === undefined ? [runStarted(start.newId, trace ?? traceForNewRun(journal.loop))] : [];
  // The new run was aborted before the previous run had ended.
  const stopped = run === undefined && phase.isAborting ? [abortedDraft] : [];
  await journal.write([...started, ...items, ...stopped]);
}

export interface DrivingAgents {
  readonly registry: AgentRegistry;
  /** Set if no agent can drive the session. */
  readonly fault?: RunFault | undefined;
}

/**
 * Returns the agents that may drive the session, and the error if they are wrong: if two of them have the same name, or
 * if none of them is the agent that the session was handed off to. The code for hand-offs loads on demand, because few
 * agents hand off.
 */
export async function findAgents(root: Settings, { agent }: LoopState): Promise<DrivingAgents> {
  const handsOff = [...root.tools.values()].some((tool) => tool.handsOff !== undefined);
  const own: AgentRegistry = new Map([[root.name, root]]);
  try {
    const registry = handsOff
      ? (await import('../calls/hand-offs.ts')).registryWithHandOffs(root)
      : own;
    activeSettings(registry, root, agent);
    return { registry };
  } catch (error) {
    return { registry: own, fault: { error } };
  }
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

/** Writes the records that end interrupted work and remove outdated aborts. */
async function recover(
  journal: RunContext['journal'],
  stale: readonly QueuedCommand[],
  { onInterrupted, owner }: RunContext['settings'],
  newRun: () => DraftRecord,
): Promise<void> {
  const { state, loop: found } = journal;
  if (found.turn === undefined && stale.length === 0) return;
  // The code loads on demand, because a session that was closed properly needs no recovery.
  const { recoveryDrafts, staleAbortDrafts } = await import('./recovery.ts');
  // An interrupted answer is not retried if the run was aborted.
  const isStopped = found.run?.aborted !== undefined || stale.length > 0;
  const mended = recoveryDrafts(state, found, isStopped ? 'keep' : onInterrupted, owner);
  const opening = [...mended, ...staleAbortDrafts(found, stale, newRun)];
  if (opening.length > 0) await journal.write(opening);
}
