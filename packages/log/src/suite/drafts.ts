import {
  type DraftRecord,
  type Fact,
  type ItemId,
  itemId,
  noUsage,
  type Part,
  type PartId,
  partId,
  runId,
} from '@millrace/core';

/** Returns a draft of a fact outside any turn. */
export function fact(what: Fact): DraftRecord {
  return { turn: 0, attempt: 0, fact: what };
}

/** Returns a draft that the fold ignores, for cases where only its position matters. */
export function marker(said: string): DraftRecord {
  return fact({ type: 'handed_off', to: said });
}

export function markers(count: number, name = 'remark'): readonly DraftRecord[] {
  return Array.from({ length: count }, (_, index) => marker(`${name} ${index + 1}`));
}

export const runStarted: DraftRecord = fact({ type: 'run_started', runId: runId('run1') });
export const runFinished: DraftRecord = fact({
  type: 'run_finished',
  runId: runId('run1'),
  stop: { reason: 'stop' },
});

/** Returns the drafts of an item outside any turn, with one complete part. */
export function wholeItem(id: string, part: Part): readonly DraftRecord[] {
  const item = itemId(id);
  return [
    fact({ type: 'item_started', itemId: item, kind: 'user' }),
    {
      turn: 0,
      attempt: 0,
      delta: { type: 'commit_part', partId: partId(0, 0, id), itemId: item, part },
    },
    fact({ type: 'item_finished', itemId: item }),
  ];
}

export const answerId = (turn: number, attempt = 1): ItemId => itemId(`answer ${turn}.${attempt}`);
export const answerPart = (turn: number, attempt = 1): PartId => partId(turn, attempt, 'text');

export const turnStarted = (turn: number): DraftRecord => ({
  turn,
  attempt: 0,
  fact: { type: 'turn_started' },
});

export const turnFinished = (turn: number): DraftRecord => ({
  turn,
  attempt: 0,
  fact: { type: 'turn_finished', stop: { reason: 'stop' } },
});

/**
 * Returns the drafts of one attempt at a turn's request. They start the item, stream its content, and finish
 * it. The result has `chunks.length + 4` drafts.
 */
export function answer(
  turn: number,
  chunks: readonly string[],
  attempt = 1,
): readonly DraftRecord[] {
  const head = { turn, attempt };
  const item = answerId(turn, attempt);
  const part = answerPart(turn, attempt);
  const stop = { reason: 'stop' } as const;
  let length = 0;
  const text = chunks.map((chunk): DraftRecord => {
    const at = length;
    length += chunk.length;
    return { ...head, delta: { type: 'append_text', partId: part, at, chunk } };
  });
  return [
    { ...head, fact: { type: 'item_started', itemId: item, kind: 'assistant' } },
    { ...head, delta: { type: 'begin_part', partId: part, itemId: item, kind: 'text' } },
    ...text,
    { ...head, delta: { type: 'commit_part', partId: part, length } },
    { ...head, fact: { type: 'response_finished', itemId: item, stop, usage: noUsage } },
  ];
}

/** Returns the drafts of a whole turn. Its deltas are the records 3 to `chunks.length + 4`. */
export function wholeTurn(turn: number, chunks: readonly string[]): readonly DraftRecord[] {
  return [turnStarted(turn), ...answer(turn, chunks), turnFinished(turn)];
}
