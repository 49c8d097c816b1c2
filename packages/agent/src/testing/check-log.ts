import {
  emptyState,
  fold,
  type LogRecord,
  type SessionId,
  type ToolCallId,
  transcript,
  validate,
} from '@millrace/core';

/** Returns the violations of the loop's laws in a session's log. */
export function findLogProblems(
  session: SessionId,
  records: readonly LogRecord[],
): readonly string[] {
  return [
    ...illegal(session, records),
    ...executions(records),
    ...results(session, records),
    ...nesting(records),
  ];
}

/** Returns the records that are not valid at their position. */
function illegal(session: SessionId, records: readonly LogRecord[]): readonly string[] {
  const problems: string[] = [];
  let state = emptyState(session);
  for (const record of records) {
    try {
      validate(state, record);
    } catch (error) {
      problems.push(`${record.offset}: ${error instanceof Error ? error.message : error}`);
    }
    state = fold(state, record).state;
  }
  return problems;
}

/** Returns violations of this law: every execution has one start and one end, in this order. */
function executions(records: readonly LogRecord[]): readonly string[] {
  const open = new Map<string, number>();
  const problems: string[] = [];
  for (const { fact, offset } of records) {
    if (fact?.type === 'tool_execution_started') {
      if (open.has(fact.executionId)) problems.push(`${offset}: ${fact.executionId} starts twice`);
      open.set(fact.executionId, 1);
    }
    if (fact?.type === 'tool_execution_finished') {
      if (open.get(fact.executionId) !== 1) problems.push(`${offset}: ${fact.executionId} ends`);
      open.set(fact.executionId, 0);
    }
  }
  for (const [id, count] of open) if (count !== 0) problems.push(`${id} does not end`);
  return problems;
}

/** Returns violations of this law: every call in the transcript is followed by exactly one result. */
function results(session: SessionId, records: readonly LogRecord[]): readonly string[] {
  const through = records.at(-1)?.offset ?? 0;
  let state = emptyState(session);
  for (const record of records) state = fold(state, record).state;
  if (state.through !== through) return ['the log does not fold'];
  const problems: string[] = [];
  const waiting = new Set<ToolCallId>();
  for (const item of transcript(state)) {
    for (const part of item.parts) {
      if (part.kind === 'tool_call') waiting.add(part.toolCallId);
      if (part.kind !== 'tool_result') continue;
      if (!waiting.delete(part.toolCallId))
        problems.push(`${part.toolCallId} has a result too many`);
    }
  }
  for (const id of waiting) problems.push(`${id} has no result`);
  return problems;
}

/**
 * Returns violations of this law: runs and turns are properly nested, and no record belongs to a finished
 * turn.
 */
function nesting(records: readonly LogRecord[]): readonly string[] {
  const problems: string[] = [];
  let [runs, turn] = [0, 0];
  for (const record of records) {
    const { fact, offset } = record;
    if (fact?.type === 'run_started' && ++runs > 1) problems.push(`${offset}: a run in a run`);
    if (fact?.type === 'run_finished') runs--;
    if (fact?.type === 'turn_started') {
      if (turn !== 0) problems.push(`${offset}: a turn in a turn`);
      turn = record.turn;
    } else if (record.turn !== 0 && record.turn !== turn)
      problems.push(`${offset}: of turn ${record.turn} in turn ${turn}`);
    if (fact?.type === 'turn_finished') turn = 0;
  }
  if (runs !== 0 || turn !== 0) problems.push('a run or a turn is open at the end');
  return problems;
}
