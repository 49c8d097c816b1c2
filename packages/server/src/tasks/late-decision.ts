import { ServerError } from '../contract/server-error.ts';
import type { CallDecision } from '../journal/journal-state.ts';

const texts = {
  allow: 'it was allowed',
  deny: 'it was denied',
  ended: 'its run has ended',
} as const satisfies Readonly<Record<CallDecision['decision'], string>>;

/** Returns the error for an answer to a call that already has a decision, or whose run has ended. */
export function lateDecision(
  task: string,
  toolCallId: string,
  { decision, by, reason }: Pick<CallDecision, 'decision' | 'by' | 'reason'>,
): ServerError {
  const who = by === undefined ? '' : ` by ${by}`;
  const why = reason === undefined ? '' : ` (${reason})`;
  const message = `Cannot approve or deny call ${toolCallId} of task ${task}: ${texts[decision]}${who}${why}. This answer has no effect`;
  const details = { decision, ...(by !== undefined && { by }) };
  return new ServerError('conflict', message, { task, toolCallId }, { details });
}
