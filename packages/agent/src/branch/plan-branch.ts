import {
  type DraftRecord,
  type FoldState,
  findItem,
  foldBatch,
  type LogRecord,
  recordVersion,
  type SessionId,
  type ToolCallId,
  type ToolCallPart,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { registryWithHandOffs } from '../calls/hand-offs.ts';
import { ResultSlots } from '../calls/result-slots.ts';
import { createResultPart, errorResult, removedText, toOutput } from '../calls/tool-result.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { LoopState, TurnState } from '../contract/loop-state.ts';
import type { ClientToolResult } from '../contract/run.ts';
import type { Settings } from '../contract/settings.ts';
import { cutBefore } from '../history/fork-before.ts';
import { toItems } from '../input/run-input.ts';
import { activeSettings } from '../run/agent-registry.ts';
import { isInterrupted, recoveryDrafts } from '../run/recovery.ts';
import { encodeCommand } from '../state/commands.ts';
import { answerRetracted, retractPart } from '../state/drafts.ts';
import { foldLoop } from '../state/fold-loop.ts';
import { unansweredCalls } from '../state/turn-calls.ts';
import {
  type OriginPlace,
  type RecordedAnswer,
  readOrigin,
  withheldReason,
} from './read-origin.ts';
import type { SessionBranch } from './session-branch.ts';

/** The arguments of `Log.fork` for a branch. */
interface BranchPlan {
  readonly through: number;
  readonly append: readonly DraftRecord[];
}

type PlanSettings = Pick<Settings, 'log' | 'ids' | 'tools' | 'guardrails'>;

/**
 * Computes the records of a branch: the offset up to which the log copies the session, and the records that
 * follow. The log stores both in one transaction. A process that dies therefore never leaves a branch that
 * would run the recorded calls again.
 */
export async function planBranch(
  root: Settings,
  session: SessionId,
  into: SessionId,
  branch: SessionBranch,
): Promise<BranchPlan> {
  const { log, ids } = root;
  const { input, results = {}, rerun = [], at } = branch;
  const info = await log.info(session);
  if (info === undefined) throw noSuchSession(session);
  if (!Number.isSafeInteger(at) || at < 0 || at > info.through)
    throw badPlace(session, at, `its offsets are 0 to ${info.through}`);
  const isChanged = ({ toolCallId, name }: Pick<ToolCallPart, 'toolCallId' | 'name'>) =>
    Object.hasOwn(results, toolCallId) || rerun.includes(toolCallId) || rerun.includes(name);
  const place = await placeOf(log, session, branch, isChanged);
  // After a hand-off, the guardrails and the tools of another agent apply.
  const settings = activeSettings(registryWithHandOffs(root), root, place.loop.agent);
  const draft = new BranchDraft(place);
  const { turn } = place.loop;
  const changed = place.changed.map(({ toolCallId }) => toolCallId);
  draft.add([branchedFact(session, branch, changed, turn?.turn ?? 0)]);
  assertCalls(session, branch, place);
  if (turn !== undefined && place.rest !== undefined) {
    draft.add(place.rest);
    const mayStay = !draft.hasOpenQuestion && mayKeepWhole(place.answer, settings);
    if (mayStay) draft.add(await resultDrafts(draft, settings, results));
    else if (place.changed.length === 0) draft.add([answerRetracted(turn)]);
    else throw badPlace(session, at, 'guardrails have not passed the answer with these calls');
  } else if (turn !== undefined && isInterrupted(turn)) {
    const isKept = input !== undefined;
    if (isKept && !mayKeep(place.answer, turn, settings))
      draft.add(withheldParts(draft.state, turn));
    draft.add(recoveryDrafts(draft.state, draft.loop, isKept ? 'keep' : 'retry'));
  }
  if (input !== undefined) {
    const items = toItems(input, ids);
    const command = encodeCommand({ type: 'message', when: 'steer', items });
    const fact = { type: 'command_queued', key: `${commandPrefix}${into}`, command } as const;
    draft.add([{ turn: 0, attempt: 0, fact }]);
  }
  if (!draft.hasWork) throw badPlace(session, at, noWork);
  return { through: place.through, append: draft.drafts };
}

const noWork =
  'no work is open there, so the agent has nothing to answer. Pass an input, or choose an earlier record';

/** The start of the key of the command with the input of a branch. */
const commandPrefix = 'branch ';

/** The state of the branch while its records are added. */
class BranchDraft {
  readonly drafts: DraftRecord[] = [];
  state: FoldState;
  loop: LoopState;

  constructor({ state, loop }: OriginPlace) {
    this.state = state;
    this.loop = loop;
  }

  /** True if the agent has something to do: an input, an answer that is not complete, calls, or a retry. */
  get hasWork(): boolean {
    const { turn, hasInput, commands, lastStop, run } = this.loop;
    if (commands.some(({ key }) => key.startsWith(commandPrefix))) return true;
    if (run?.aborted !== undefined) return false;
    const stop = turn === undefined ? lastStop : turn.stop;
    const isOpen = turn !== undefined && stop === undefined;
    // Only a new run repeats a failed request.
    const isFailed = turn === undefined && run === undefined && stop?.reason === 'error';
    return isOpen || hasInput || isFailed || ['tool_use', 'pause'].includes(stop?.reason ?? '');
  }

  /**
   * True if an output guardrail asks a person about the answer of the open turn. Another person could allow in the
   * branch what the first one refuses in the session.
   */
  get hasOpenQuestion(): boolean {
    const { itemId } = this.loop.turn ?? {};
    return itemId !== undefined && this.state.asked.some(({ from }) => from?.itemId === itemId);
  }

  add(drafts: readonly DraftRecord[]): void {
    for (const draft of drafts) {
      this.drafts.push(draft);
      const offset = this.state.through + 1;
      const record = {
        v: recordVersion,
        offset,
        time: 0,
        producer: 'store',
        ...draft,
      } as LogRecord;
      const batch = { after: offset - 1, through: offset, records: [record] };
      const { outcome, state } = foldBatch(this.state, batch);
      if (outcome !== 'applied') throw notFoldable(this.state.session, offset);
      this.state = state;
      this.loop = foldLoop(this.loop, record);
    }
  }
}

/** Finds the place at which the branch begins, and the state of the session there. */
async function placeOf(
  log: Log,
  session: SessionId,
  { at, input }: SessionBranch,
  isChanged: (call: Pick<ToolCallPart, 'toolCallId' | 'name'>) => boolean,
): Promise<OriginPlace> {
  const place = await readOrigin(log, session, at, isChanged);
  const { message } = place;
  if (message === undefined || place.changed.length > 0) return place;
  const through = input === undefined ? message.end : await cutBefore(log, session, message.start);
  return through === at ? place : readOrigin(log, session, through, () => false);
}

function branchedFact(
  session: SessionId,
  { at, input, results = {}, model, provider, instructions }: SessionBranch,
  calls: readonly ToolCallId[],
  turn: number,
): DraftRecord {
  const named = model ?? provider?.model;
  const given = calls.filter((id) => Object.hasOwn(results, id));
  const again = calls.filter((id) => !Object.hasOwn(results, id));
  const changed = [
    ...(input === undefined ? [] : ['input']),
    ...(given.length > 0 ? ['result'] : []),
    ...(again.length > 0 ? ['rerun'] : []),
    ...(named === undefined ? [] : ['model']),
    ...(instructions === undefined ? [] : ['instructions']),
  ];
  const fact = {
    ...({ type: 'branched', from: { session, at }, changed } as const),
    ...(given.length > 0 && { results: given }),
    ...(again.length > 0 && { rerun: again }),
    ...(named !== undefined && { model: named }),
    ...(instructions !== undefined && { instructions }),
  };
  return { turn, attempt: 0, fact };
}

/**
 * Returns true if a branch may keep the start of an answer. The start of an answer that a guardrail stopped,
 * changed or has not checked yet would reach the model and the readers without a check.
 */
function mayKeep(
  { isWithheld, isCut, passedBy }: RecordedAnswer,
  { isCompaction }: TurnState,
  { guardrails }: PlanSettings,
): boolean {
  if (isWithheld) return false;
  const checks = guardrails.filter(({ on }) => on === 'output');
  return isCompaction || isCut || checks.every(({ name }) => passedBy.has(name));
}

/**
 * Returns true if a branch may keep a complete answer. In the branch, guardrails could decide differently on an
 * answer that they stopped, changed or still check in the session.
 */
function mayKeepWhole(answer: RecordedAnswer, { guardrails }: PlanSettings): boolean {
  const checks = guardrails.filter(({ on }) => on === 'output');
  return (
    !answer.isWithheld && (answer.isUsed || checks.every(({ name }) => answer.passedBy.has(name)))
  );
}

/** Returns the records that remove all parts of the open answer. */
function withheldParts(state: FoldState, { itemId }: TurnState): readonly DraftRecord[] {
  const parts = (itemId && findItem(state, itemId)?.parts) ?? [];
  return parts.map(({ id }) => retractPart(id, withheldReason));
}

/** Throws if a result or a repetition names a call that the turn does not have. */
function assertCalls(
  session: SessionId,
  { at, results = {}, rerun = [] }: SessionBranch,
  { changed, rest }: OriginPlace,
): void {
  const known = new Set<string>(changed.flatMap(({ toolCallId, name }) => [toolCallId, name]));
  const missing = [...Object.keys(results), ...rerun].find((name) => !known.has(name));
  if (missing !== undefined) {
    const message = `Cannot branch session ${session} at record ${at}: the last turn there has no call ${missing}. Choose a record of the turn of this call`;
    throw new AgentError('no_such_call', message, { session, offset: at });
  }
  if (changed.length > 0 && rest === undefined)
    throw badPlace(session, at, 'the answer with these calls is not complete');
}

/**
 * Returns the records of the new results. A call whose recorded result was redacted gets an error as its
 * result, because it must not run again.
 */
async function resultDrafts(
  { state, loop }: BranchDraft,
  { log, ids, tools }: PlanSettings,
  results: Readonly<Record<string, ClientToolResult>>,
): Promise<readonly DraftRecord[]> {
  const { turn } = loop;
  if (turn === undefined) return [];
  const drafts: DraftRecord[] = [];
  const attempt = { turn: turn.turn, attempt: turn.attempt };
  const slots = new ResultSlots(attempt, ids, openToolItem(state, turn), state);
  for (const call of unansweredCalls(state, turn)) {
    const given = Object.hasOwn(results, call.toolCallId) ? results[call.toolCallId] : undefined;
    const { execution } = turn.calls.get(call.toolCallId) ?? {};
    const isRemoved =
      execution !== undefined && !execution.isRunning && !execution.isLost && !execution.isParked;
    if (given === undefined && !isRemoved) continue;
    const { maxOutputLength = defaultOutputLength } = tools.get(call.name) ?? {};
    const part =
      given === undefined
        ? errorResult(call, removedText)
        : given.error === undefined
          ? await createResultPart(call, toOutput(given.output), { maxOutputLength }, log.blobs)
          : errorResult(call, given.error);
    if (!slots.isOpen(call.toolCallId)) drafts.push(...slots.reserve([call]));
    drafts.push(...slots.fill(part));
  }
  return drafts;
}

const defaultOutputLength = 30_000;

/** Returns the item with the results of the turn, if it can still change. */
function openToolItem(state: FoldState, { toolItemId }: TurnState): TurnState['toolItemId'] {
  const item = toolItemId && findItem(state, toolItemId);
  return item && item.redacted !== true ? toolItemId : undefined;
}

function noSuchSession(session: SessionId): AgentError {
  const message = `Cannot branch session ${session}: it does not exist`;
  return new AgentError('no_such_session', message, { session });
}

function notFoldable(session: SessionId, offset: number): AgentError {
  const message = `Cannot branch session ${session}: record ${offset} of the branch contradicts the records before it. This is a bug; please report it`;
  return new AgentError('not_foldable', message, { session, offset });
}

function badPlace(session: SessionId, at: number, why: string): AgentError {
  const message = `Cannot branch session ${session} at record ${at}: ${why}`;
  return new AgentError('bad_option', message, { session, offset: at });
}
