import {
  type AgentEvent,
  agentEvents,
  type DraftRecord,
  emptyState,
  type Fact,
  type FoldState,
  fold,
  type LogRecord,
  recordVersion,
  sessionId,
} from '@millrace/core';

export const factDraft = (fact: Fact, turn = 0, attempt = 0): DraftRecord => ({
  turn,
  attempt,
  fact,
});

/** Turns drafts into records with offsets and times, like a log. Records are 1 s apart. */
export function numberDrafts(drafts: readonly DraftRecord[], from = 1): readonly LogRecord[] {
  return drafts.map((draft, at) => ({
    ...draft,
    ...{ v: recordVersion, offset: from + at, time: 1000 * (from + at), producer: 'driver' },
  }));
}

/** Folds drafts. Returns the events and the final state. */
export function foldDrafts(drafts: readonly DraftRecord[]): {
  readonly events: readonly AgentEvent[];
  readonly state: FoldState;
} {
  const events: AgentEvent[] = [];
  let state = emptyState(sessionId('s'));
  for (const record of numberDrafts(drafts)) {
    const { state: after } = fold(state, record);
    events.push(...agentEvents(state, record, after));
    state = after;
  }
  return { events, state };
}

const testStart = 1_763_200_000_000;

/** Turns drafts into records with offsets and times, like a log. Default interval: 10 ms. */
export function numberedRecords(
  reads: readonly (readonly DraftRecord[])[],
  stepMs = 10,
): readonly LogRecord[] {
  return reads.flat().map((draft, index) => {
    const time = testStart + index * stepMs;
    return { v: recordVersion, offset: index + 1, time, producer: 'test', ...draft };
  });
}
