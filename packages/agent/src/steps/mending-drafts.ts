import type { DraftRecord } from '@millrace/core';
import { isCut, lostExecutions, recover } from '../run/recover.ts';
import type { AdvanceOptions } from './advance.ts';
import type { OpenStep } from './open-step.ts';

/**
 * What is written first, because nobody works on it any more: whoever did was fenced by the one who
 * comes now. An answer that was cut off is asked for again, which supersedes it, unless it is to be kept.
 */
export function mendingDrafts(
  { journal, settings }: OpenStep,
  { runId, keepsCut = false }: Pick<AdvanceOptions, 'runId' | 'keepsCut'>,
): readonly DraftRecord[] {
  const { state, loop } = journal;
  const { run, turn } = loop;
  if (turn === undefined) return [];
  const isKept = keepsCut || turn.isAside || run?.aborted !== undefined;
  if (isCut(turn) && isKept) return recover(state, loop, 'keep');
  // Another one's run: what becomes of it is as the agent has it.
  if (isCut(turn) && run?.id !== runId) return recover(state, loop, settings.onInterrupted);
  return lostExecutions(turn);
}
