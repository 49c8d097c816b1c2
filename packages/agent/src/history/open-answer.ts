import type { DraftRecord, ItemId, LogRecord, SessionId, ToolCallId } from '@millrace/core';
import { type Log, readBackward } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';
import { isCheckedStop } from '../guardrails/checked-items.ts';
import { nextRound } from '../replay/playback.ts';
import { answerRetracted } from '../state/drafts.ts';

/**
 * Returns the record that retracts the open answer at the end of the copied records, if output guardrails have not
 * passed it. Guardrails stopped or changed it in the session, or check it later. In the fork, they could decide
 * differently, and they would not check the start of an answer. Throws `bad_option` if a guardrail asks about the
 * answer.
 */
export async function retractedAnswer(
  log: Log,
  session: SessionId,
  through: number,
  append: readonly DraftRecord[],
): Promise<readonly DraftRecord[]> {
  const copied = [...(await openTurn(log, session, through)), ...append];
  assertNoQuestion(session, through, copied);
  let answer: DraftRecord | undefined;
  for (const record of copied) {
    const { fact } = record;
    if (fact?.type === 'item_started' && fact.kind === 'assistant') answer = record;
    if (fact?.type === 'attempt_superseded' || usesAnswer(fact)) answer = undefined;
  }
  if (answer === undefined) return [];
  for (let from = through; ; ) {
    const page = await log.read(session, { from });
    for (const { turn, attempt, fact } of page.records) {
      if (turn !== answer.turn) continue;
      if (fact?.type === 'attempt_superseded' && attempt === answer.attempt)
        return [answerRetracted(answer)];
      if (usesAnswer(fact)) return [];
    }
    if (page.through <= from) return [answerRetracted(answer)];
    from = page.through;
    await nextRound();
  }
}

/**
 * Returns true if the loop writes this fact of a turn only after all output guardrails have passed the answer, or
 * if the answer was aborted or failed. Guardrails do not check such an answer.
 */
export function usesAnswer(fact: DraftRecord['fact']): boolean {
  switch (fact?.type) {
    case 'response_finished':
    case 'item_finished':
      return fact.stop !== undefined && !isCheckedStop(fact.stop);
    case 'guardrail_applied':
      return fact.on === 'tool_call';
    case 'approval_asked':
      return fact.from?.itemId === undefined;
    default:
      return factsAfterAnswer.has(fact?.type);
  }
}

const factsAfterAnswer: ReadonlySet<string | undefined> = new Set([
  ...['turn_finished', 'tool_execution_started', 'tool_output_asked', 'tool_call_rejected'],
]);

/** Throws if an output guardrail asks a person about the answer at the end of the copied records. */
function assertNoQuestion(session: SessionId, through: number, turn: readonly DraftRecord[]): void {
  const answers = new Set<ItemId>();
  const questions = new Set<ToolCallId>();
  for (const { fact } of turn) {
    if (fact?.type === 'item_started' && fact.kind === 'assistant') answers.add(fact.itemId);
    if (fact?.type === 'approval_answered') questions.delete(fact.toolCallId);
    if (fact?.type === 'attempt_superseded') questions.clear();
    const itemId = fact?.type === 'approval_asked' ? fact.from?.itemId : undefined;
    if (fact?.type === 'approval_asked' && itemId !== undefined && answers.has(itemId))
      questions.add(fact.toolCallId);
  }
  if (questions.size === 0) return;
  const message = `Cannot fork session ${session} after record ${through}: a guardrail asks about the answer there. Answer its question, or choose a record before this answer`;
  throw new AgentError('bad_option', message, { session, offset: through });
}

/** Returns the records of the turn that is open at an offset. */
async function openTurn(
  log: Log,
  session: SessionId,
  through: number,
): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const page of readBackward(log, session, { through }))
    for (const record of page.toReversed()) {
      if (record.fact?.type === 'turn_finished') return [];
      if (record.fact !== undefined) records.push(record);
      if (record.fact?.type === 'turn_started') return records.reverse();
    }
  return [];
}
