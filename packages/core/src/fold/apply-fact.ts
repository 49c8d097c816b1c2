import { attemptOf, type ItemId, type PartId } from '../ids.ts';
import type { Fact, Snapshot } from '../protocol/fact.ts';
import type { Refusal } from '../protocol/protocol-error.ts';
import type { FactRecord } from '../protocol/record.ts';
import type { Stop } from '../protocol/stop.ts';
import type { Usage } from '../protocol/usage.ts';
import { changeItem, changeItems, retire } from './change-items.ts';
import type { Attempt, AttemptUsage, FoldState, ItemState } from './fold-state.ts';
import { findItem, findLiveItem } from './lookup.ts';

type FactInAttempt = Attempt & Pick<FactRecord, 'fact'>;

/** The state with the fact in it, the same state if it does not change it, or why it does not fit. */
export function applyFact(state: FoldState, record: FactInAttempt): FoldState | Refusal {
  const { fact } = record;
  switch (fact.type) {
    case 'item_started':
      return startItem(state, fact, record);
    case 'item_finished':
      return finishItem(state, fact.itemId, fact.stop);
    case 'item_redacted':
      return redactItem(state, fact.itemId);
    case 'response_finished': {
      const finished = finishItem(state, fact.itemId, fact.stop);
      return typeof finished === 'string' ? finished : noteUsage(finished, record, fact.usage);
    }
    case 'usage_reported':
      return noteUsage(state, record, fact.usage);
    case 'attempt_superseded':
      return supersede(state, record);
    case 'run_started':
      return { ...state, run: fact.runId };
    case 'run_finished':
      return { ...state, run: undefined };
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
  { turn, attempt }: Attempt,
): FoldState | Refusal {
  if (findLiveItem(state, id) !== undefined) return 'conflict';
  const item: ItemState = {
    id,
    kind,
    author,
    metadata,
    turn,
    attempt,
    parts: [],
    finished: false,
    stop: undefined,
    redacted: false,
  };
  return { ...state, live: [...state.live, item] };
}

/** Parts may be open here: a reader whose turn was settled gets their ends with the snapshot only. */
function finishItem(state: FoldState, id: ItemId, stop: Stop | undefined): FoldState | Refusal {
  const item = findItem(state, id);
  if (item === undefined) return 'unknown_item';
  if (item.finished) return 'item_closed';
  return retire(changeItem(state, id, (old) => ({ ...old, finished: true, stop })));
}

function redactItem(state: FoldState, id: ItemId): FoldState | Refusal {
  const item = findItem(state, id);
  if (item === undefined) return 'unknown_item';
  const emptied = changeItem(state, id, (old) => ({ ...old, parts: [], redacted: true }));
  const gone = new Set([...state.gone, ...item.parts.map((slot) => slot.id)]);
  return retire({ ...emptied, gone, open: state.open.filter((part) => !gone.has(part.id)) });
}

function noteUsage(state: FoldState, { turn, attempt }: Attempt, used: Usage): FoldState {
  const isThis = (entry: AttemptUsage) => entry.turn === turn && entry.attempt === attempt;
  const index = state.usage.findLastIndex(isThis);
  const entry = { turn, attempt, usage: used };
  const usage = index < 0 ? [...state.usage, entry] : state.usage.with(index, entry);
  return { ...state, usage };
}

/** All that the attempt brought leaves at once: the items that were started for it, and its parts. */
function supersede(state: FoldState, { turn, attempt }: Attempt): FoldState | Refusal {
  // Attempt 0 is no try at anything: what belongs to it belongs to all.
  if (attempt === 0) return 'wrong_attempt';
  const isIts = (tried: Attempt) => tried.turn === turn && tried.attempt === attempt;
  const items = [...state.past, ...state.live];
  const itemIds = items.filter(isIts).map((item) => item.id);
  const partIds = items.flatMap((item) => item.parts.map((slot) => slot.id));
  const leaving = [...itemIds, ...partIds.filter((id) => isIts(attemptOf(id)))];
  const gone = new Set([...state.gone, ...leaving]);
  const stays = ({ id }: { readonly id: ItemId | PartId }) => !gone.has(id);
  const left = changeItems(state, (item) => {
    if (!stays(item)) return undefined;
    return item.parts.every(stays) ? item : { ...item, parts: item.parts.filter(stays) };
  });
  const superseded = [...state.superseded, { turn, attempt }];
  return retire({ ...left, gone, superseded, open: state.open.filter(stays) });
}

/** The snapshot's content instead of what is known of that turn, streamed in part, whole or not at all. */
function settle(state: FoldState, { turn }: Attempt, { items }: Snapshot): FoldState | Refusal {
  if (items.some(({ itemId }) => findItem(state, itemId)?.turn !== turn)) return 'unknown_item';
  const settled = new Map(items.map(({ itemId, parts }) => [itemId, parts]));
  const left = changeItems(state, (item) => {
    if (item.turn !== turn) return item;
    const parts = settled.get(item.id) ?? [];
    return { ...item, parts: parts.map(({ partId: id, part }) => ({ id, part })) };
  });
  return retire({ ...left, open: state.open.filter((part) => attemptOf(part.id).turn !== turn) });
}

function noteUnknown(state: FoldState, raw: Readonly<Record<string, unknown>>): FoldState {
  if (raw['must_understand'] !== true) return state;
  const type = String(raw['type']);
  if (state.notUnderstood.includes(type)) return state;
  return { ...state, notUnderstood: [...state.notUnderstood, type] };
}
