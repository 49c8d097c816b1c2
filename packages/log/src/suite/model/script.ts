import {
  attemptOf,
  type DraftRecord,
  emptyState,
  type Fact,
  type FoldState,
  findItem,
  fold,
  foldBatch,
  itemId,
  noUsage,
  type Part,
  ProtocolError,
  partId,
  recordVersion,
  toArray,
  validate,
} from '@millrace/core';
import type { ReferenceSession } from '../reference/reference-store.ts';

/**
 * Turns drafts into a script for a driver, by adding the start of each turn.
 *
 * @example const script = toScript(drafts);
 */
export function toScript(drafts: readonly DraftRecord[]): readonly DraftRecord[] {
  const begun = new Set([0]);
  return drafts.flatMap((given): readonly DraftRecord[] => {
    const { turn, attempt, delta, fact } = given;
    const draft: DraftRecord =
      delta === undefined ? { turn, attempt, fact } : { turn, attempt, delta };
    if (begun.has(turn)) return [draft];
    begun.add(turn);
    return [{ turn, attempt: 0, fact: { type: 'turn_started' } }, draft];
  });
}

/**
 * Turns that only producers write to. Their attempts therefore do not conflict with attempts of the driver.
 */
export const producedTurns: readonly number[] = [101, 102];

export function stateOf({ session, records, through }: ReferenceSession): FoldState {
  const folded = foldBatch(emptyState(session), { after: 0, through, records });
  if (folded.outcome === 'gap') throw new Error(`the log does not fold: ${folded.gap.code}`);
  return folded.state;
}

/** Returns the drafts that a writer may append one after the other. Omits illegal drafts. */
export function legalDrafts(
  session: ReferenceSession,
  drafts: readonly DraftRecord[],
): readonly DraftRecord[] {
  let state = stateOf(session);
  const taken: DraftRecord[] = [];
  for (const draft of drafts) {
    const added = allowed(state, draft);
    if (added === undefined) continue;
    taken.push(added);
    state = after(state, added);
  }
  return taken;
}

/** Returns the next drafts of a producer's answer. Returns an empty list if the answer is finished. */
export function nextAnswerDrafts(
  session: ReferenceSession,
  turn: number,
  attempt: number,
  numbers: readonly number[],
): readonly DraftRecord[] {
  let state = stateOf(session);
  const drafts: DraftRecord[] = [];
  for (const number of numbers) {
    const draft = allowed(state, nextOf(state, turn, attempt, number));
    if (draft === undefined) break;
    drafts.push(draft);
    state = after(state, draft);
  }
  return drafts;
}

/** Returns the drafts that finish a turn and everything that is open in it. */
export function turnEnding(session: ReferenceSession, turn: number): readonly DraftRecord[] {
  const { open, items } = stateOf(session);
  const parts = open.filter(({ id }) => attemptOf(id).turn === turn);
  const unfinished = toArray(items).filter((item) => item.turn === turn && !item.finished);
  const stop = { reason: 'aborted', cause: 'model' } as const;
  return [
    ...parts.map(({ id, text, bytes, value, begin }): DraftRecord => {
      const isEmpty = mediumOf(begin.kind) === 'value' && value === undefined;
      const length = bytes?.length ?? text.length;
      const end = isEmpty
        ? ({ type: 'retract_part', partId: id, reason: 'cut' } as const)
        : ({ type: 'commit_part', partId: id, length, partial: true } as const);
      return { ...attemptOf(id), delta: end };
    }),
    ...unfinished.map(({ id, attempt }) =>
      factDraft({ turn, attempt }, { type: 'item_finished', itemId: id, stop }),
    ),
    factDraft({ turn, attempt: 0 }, { type: 'turn_finished', stop }),
  ];
}

const mediumOf = (kind: Part['kind']) =>
  kind === 'structured' || kind === 'custom' ? 'value' : 'appends';

function nextOf(state: FoldState, turn: number, attempt: number, number: number): DraftRecord {
  const head = { turn, attempt };
  const id = itemId(`answer ${turn}.${attempt}`);
  const item = findItem(state, id);
  const open = state.open.find(({ begin }) => begin.itemId === id);
  if (item === undefined)
    return factDraft(head, { type: 'item_started', itemId: id, kind: 'assistant' });
  if (open !== undefined && number % 5 > 0) {
    const { id: part, text } = open;
    const chunk = String.fromCharCode(97 + (number % 26)).repeat(1 + (number % 3));
    return { ...head, delta: { type: 'append_text', partId: part, at: text.length, chunk } };
  }
  if (open !== undefined)
    return { ...head, delta: { type: 'commit_part', partId: open.id, length: open.text.length } };
  if (item.parts.length > 0 && number % 2 === 0)
    return factDraft(head, {
      type: 'response_finished',
      itemId: id,
      stop: { reason: 'stop' },
      usage: noUsage,
    });
  const part = partId(turn, attempt, `p${item.parts.length}`);
  return { ...head, delta: { type: 'begin_part', partId: part, itemId: id, kind: 'text' } };
}

function factDraft(
  head: { readonly turn: number; readonly attempt: number },
  fact: Fact,
): DraftRecord {
  return { ...head, fact };
}

function allowed(state: FoldState, draft: DraftRecord): DraftRecord | undefined {
  try {
    return validate(state, draft);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

function after(state: FoldState, draft: DraftRecord): FoldState {
  const head = { v: recordVersion, time: 0, producer: 'model', offset: state.through + 1 } as const;
  return fold(state, { ...draft, ...head }).state;
}
