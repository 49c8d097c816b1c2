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

/** Drafts as a log would have them. */
export function numberDrafts(drafts: readonly DraftRecord[], from = 1): readonly LogRecord[] {
  return drafts.map((draft, at) => ({
    ...draft,
    ...{ v: recordVersion, offset: from + at, time: 1000 * (from + at), producer: 'driver' },
  }));
}

/** What is foldDrafts of drafts, and what they come to. */
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

/** As a log would number them, one every 10 ms unless foldDrafts. */
export function numberedRecords(
  reads: readonly (readonly DraftRecord[])[],
  stepMs = 10,
): readonly LogRecord[] {
  return reads.flat().map((draft, index) => {
    const time = testStart + index * stepMs;
    return { v: recordVersion, offset: index + 1, time, producer: 'test', ...draft };
  });
}
