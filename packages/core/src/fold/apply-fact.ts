import {
  type Attempt,
  attemptOf,
  type ItemId,
  isSameAttempt,
  type PartId,
  type ToolCallId,
} from '../ids.ts';
import type { ChildAttempt, Fact, Snapshot } from '../protocol/fact.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import type { FactRecord } from '../protocol/record.ts';
import type { Stop } from '../protocol/stop.ts';
import { withDerived } from '../protocol/tool-call.ts';
import type { Usage } from '../protocol/usage.ts';
import {
  type AskedApproval,
  type AttemptUsage,
  type AwaitedOutput,
  type FoldState,
  findItem,
  type ItemState,
  usageKey,
} from './fold-state.ts';
import { add } from './growing-set.ts';
import { changeAll, findLast, isCut, push, replace, toArray } from './sequence.ts';

/**
 * A fact with its turn and attempt. `time` is absent for a draft, which the caller only checks and does not
 * fold.
 */
type FactInAttempt = Attempt & Pick<FactRecord, 'fact'> & Partial<Pick<FactRecord, 'time'>>;

/**
 * Returns the state with the fact applied. Returns the same state if the fact does not change it, or a
 * refusal with the reason why the fact does not fit.
 */
export function applyFact(state: FoldState, record: FactInAttempt): FoldState | Refusal {
  const { fact } = record;
  switch (fact.type) {
    case 'item_started':
      return startItem(state, fact, record);
    case 'item_finished':
      return finishItem(state, fact.itemId, record, fact.stop);
    case 'item_redacted':
      return redactItem(state, fact.itemId);
    case 'response_finished': {
      const finished = finishItem(state, fact.itemId, record, fact.stop);
      return typeof finished === 'string' ? finished : noteUsage(finished, record, fact.usage);
    }
    case 'usage_reported':
      return noteUsage(state, record, fact.usage);
    case 'child_usage_reported':
      return noteUsage(state, record, fact.usage, fact.of);
    case 'attempt_superseded':
      return supersede(state, record);
    case 'turn_finished':
      return finishTurn(state, record);
    case 'run_started':
      return { ...state, run: fact.runId };
    case 'run_finished':
      return state.run === fact.runId ? { ...state, run: undefined } : state;
    case 'approval_asked':
      return ask(state, record, fact);
    case 'tool_output_asked':
      return awaitOutput(state, record, fact);
    case 'approval_answered':
      return withoutAsked(state, ({ toolCallId }) => toolCallId === fact.toolCallId);
    case 'tool_execution_started':
      return withoutAwaited(
        withoutAsked(state, ({ toolCallId }) => toolCallId === fact.toolCallId),
        ({ toolCallId }) => toolCallId === fact.toolCallId,
      );
    case 'tool_call_rejected':
      return withoutAwaited(
        withoutAsked(state, (one) => isAbout(one, fact.toolCallId)),
        ({ toolCallId }) => toolCallId === fact.toolCallId,
      );
    case 'tool_execution_finished': {
      // If the outcome is `parked` or `lost`, the sub-agent can continue later, so its question stays open.
      const isOver = fact.outcome === 'completed' || fact.outcome === 'discarded';
      return isOver ? withoutAsked(state, (one) => isAbout(one, fact.toolCallId)) : state;
    }
    case 'snapshot':
      return settle(state, record, fact);
    case 'unknown':
      return noteUnknown(state, fact.raw);
    default:
      return state;
  }
}

type Started = Extract<Fact, { type: 'item_started' }>;

function startItem(
  state: FoldState,
  { itemId: id, kind, author, metadata }: Started,
  { turn, attempt, time }: FactInAttempt,
): FoldState {
  const item: ItemState = {
    id,
    kind,
    author,
    metadata,
    turn,
    attempt,
    run: state.run,
    startedAt: time,
    parts: [],
    finished: undefined,
    finishedAt: undefined,
    stop: undefined,
    redacted: false,
  };
  return { ...state, items: push(state.items, item) };
}

function withItem(state: FoldState, item: ItemState, changes: Partial<ItemState>): FoldState {
  return { ...state, items: replace(state.items, item, { ...item, ...changes }) };
}

/**
 * Finishes an item. If a reader received only the first deltas of a turn that was settled later, the parts of
 * the item are still open. The snapshot that follows closes them.
 */
function finishItem(
  state: FoldState,
  id: ItemId,
  { turn, attempt, time }: FactInAttempt,
  stop: Stop | undefined,
): FoldState | Refusal {
  const item = findItem(state, id);
  if (item === undefined) return 'unknown_item';
  if (item.finished) return 'item_closed';
  return withItem(state, item, { finished: { turn, attempt }, finishedAt: time, stop });
}

function redactItem(state: FoldState, id: ItemId): FoldState | Refusal {
  const item = findItem(state, id);
  // If the oldest items were not loaded, the item may be one of them.
  if (item === undefined) return isCut(state.items) ? state : 'unknown_item';
  const gone = withGone(state, item.parts);
  const open = state.open.filter((part) => part.begin.itemId !== id);
  return { ...withItem(state, item, { parts: [], redacted: true }), gone, open };
}

/** Returns the retracted ids, with the ids of these parts. */
function withGone({ gone }: FoldState, parts: ItemState['parts']): FoldState['gone'] {
  return parts.reduce((ids, { id }) => add(ids, id), gone);
}

function noteUsage(
  state: FoldState,
  { turn, attempt }: Attempt,
  usage: Usage,
  of?: ChildAttempt,
): FoldState {
  const last = state.usage.chunk.at(-1);
  const entry: AttemptUsage = { turn, attempt, usage, of };
  const isAgain = last !== undefined && usageKey(last) === usageKey(entry);
  return {
    ...state,
    usage: isAgain ? replace(state.usage, last, entry) : push(state.usage, entry),
  };
}

type ApprovalAsked = Extract<Fact, { type: 'approval_asked' }>;

/** Adds a question about a call. A second question about the same call replaces the first question. */
function ask(
  state: FoldState,
  { turn, attempt }: Attempt,
  { toolCallId, name, reason, rule, from }: ApprovalAsked,
): FoldState {
  const { asked } = withoutAsked(state, (one) => one.toolCallId === toolCallId);
  return { ...state, asked: [...asked, { turn, attempt, toolCallId, name, reason, rule, from }] };
}

/** Adds a call that waits for its output. A second request for the same output replaces the first request. */
function awaitOutput(
  state: FoldState,
  { turn, attempt }: Attempt,
  { toolCallId, name, input }: Extract<Fact, { type: 'tool_output_asked' }>,
): FoldState {
  const { awaited } = withoutAwaited(state, (one) => one.toolCallId === toolCallId);
  return { ...state, awaited: [...awaited, { turn, attempt, toolCallId, name, input }] };
}

function withoutAwaited(state: FoldState, isOver: (one: AwaitedOutput) => boolean): FoldState {
  const { awaited } = state;
  if (!awaited.some(isOver)) return state;
  return { ...state, awaited: awaited.filter((one) => !isOver(one)) };
}

/**
 * Returns whether the question is about this call, or comes from a sub-agent that this call runs.
 */
function isAbout({ toolCallId, from }: AskedApproval, call: ToolCallId): boolean {
  return toolCallId === call || from?.toolCallId === call;
}

function withoutAsked(state: FoldState, isOver: (one: AskedApproval) => boolean): FoldState {
  const { asked } = state;
  return asked.some(isOver) ? { ...state, asked: asked.filter((one) => !isOver(one)) } : state;
}

const isOfTurn = (turn: number) => (item: Attempt) => item.turn === turn;

/**
 * Removes everything that the attempt added: its items, its parts, and the stop reasons that it gave to items
 * of the turn.
 */
function supersede(state: FoldState, { turn, attempt }: Attempt): FoldState | Refusal {
  // Attempt 0 means all attempts of a turn, so it cannot be superseded.
  if (attempt === 0) return 'wrong_attempt';
  const isIts = (tried: Attempt) => isSameAttempt(tried, { turn, attempt });
  const isItsPart = ({ id }: { readonly id: PartId }) => isIts(attemptOf(id));
  const ofTurn = toArray(state.items).filter(isOfTurn(turn));
  const itemIds = ofTurn.filter(isIts).map((item) => item.id);
  const parts = ofTurn.flatMap((item) => item.parts).filter(isItsPart);
  const items = changeAll(state.items, isOfTurn(turn), (item) => {
    if (isIts(item)) return undefined;
    const left = { ...item, parts: item.parts.filter((slot) => !isItsPart(slot)) };
    const wasItsEnd = item.finished !== undefined && isIts(item.finished);
    const reopened = { finished: undefined, finishedAt: undefined, stop: undefined };
    return wasItsEnd ? { ...left, ...reopened } : left;
  });
  return {
    ...state,
    items,
    open: state.open.filter((part) => !isItsPart(part)),
    asked: state.asked.filter((one) => !isIts(one)),
    awaited: state.awaited.filter((one) => !isIts(one)),
    gone: withGone(state, parts),
    superseded: [...state.superseded, { turn, attempt, itemIds }],
  };
}

/**
 * Finishes a turn. Removes the lists of retracted parts and superseded attempts, which were needed only to
 * refuse late records of the turn.
 */
function finishTurn(before: FoldState, { turn }: Attempt): FoldState {
  const state = withoutAwaited(withoutAsked(before, isOfTurn(turn)), isOfTurn(turn));
  const hasIts = state.gone.length > 0 || state.superseded.length > 0;
  if (!hasIts) return state;
  return {
    ...state,
    gone: state.gone
      .flatMap((ids) => [...ids])
      .filter((id) => !id.startsWith(`${turn}.`))
      .reduce<FoldState['gone']>(add, []),
    superseded: state.superseded.filter((tried) => tried.turn !== turn),
  };
}

/** Replaces the parts of all items of the turn by the parts in the snapshot. */
function settle(state: FoldState, { turn }: Attempt, { items }: Snapshot): FoldState | Refusal {
  if (!hasAllOf(state, turn, items)) return 'unknown_item';
  const settled = new Map(items.map(({ itemId, parts }) => [itemId, parts]));
  return {
    ...state,
    items: changeAll(state.items, isOfTurn(turn), (item) => ({
      ...item,
      parts: (settled.get(item.id) ?? []).map(({ partId: id, part }) => ({
        id,
        part: withDerived(part),
      })),
    })),
    open: state.open.filter((part) => attemptOf(part.id).turn !== turn),
  };
}

/**
 * Returns whether the state has all these items in this turn. It walks the list once from the end. A turn can
 * have thousands of items, and a separate search for each item would take quadratic time.
 */
function hasAllOf(state: FoldState, turn: number, items: Snapshot['items']): boolean {
  const missing = new Set(items.map(({ itemId }) => itemId));
  if (missing.size === 0) return true;
  findLast(state.items, (item) => {
    if (item.turn === turn) missing.delete(item.id);
    return missing.size === 0;
  });
  return missing.size === 0;
}

function noteUnknown(state: FoldState, raw: Readonly<Record<string, unknown>>): FoldState {
  if (raw['must_understand'] !== true) return state;
  const type = String(raw['type']);
  if (state.notUnderstood.includes(type)) return state;
  return { ...state, notUnderstood: [...state.notUnderstood, type] };
}
