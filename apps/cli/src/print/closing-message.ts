import type { RunResult } from '@millrace/agent';
import { isMillraceError } from '@millrace/core';
import { oneLine } from '../text/cells/printable.ts';
import type { PendingApproval } from './pending-approvals.ts';

interface ClosingOptions {
  readonly pending?: readonly PendingApproval[] | undefined;
  /** The command to resume the session. Undefined if the session is not stored. */
  readonly resume?: string | undefined;
}

/**
 * Returns messages about how a run ended, and about the next steps. Returns an empty list after a
 * normal end.
 */
export function closingMessages(
  result: RunResult,
  { pending = [], resume }: ClosingOptions,
): readonly string[] {
  const { stop, error, items } = result;
  const resumeHint = resume === undefined ? '' : ` To continue: ${resume}`;
  const cause = stop.cause === undefined ? '' : ` (${stop.cause})`;
  switch (stop.reason) {
    case 'stop':
    case 'tool_use':
    case 'pause':
      return [];
    case 'refusal':
      return ['The model refused to answer.'];
    case 'length':
      return [`The answer is cut off at the model's maximum length.${resumeHint}`];
    case 'blocked':
      return [`A guardrail stopped the run${cause}.`];
    case 'limit':
      return [`Stopped at a limit${cause}.${resumeHint}`];
    case 'aborted':
      return [resume === undefined ? 'Stopped' : `Stopped. The session is stored.${resumeHint}`];
    case 'parked':
      return [...pending.map(approvalMessage), parkedMessage(result, resume)];
    case 'content_filter':
      return [`The provider's content filter cut the answer off.${resumeHint}`];
    case 'unknown':
      return [`The model stopped for an unknown reason${cause}.${resumeHint}`];
    case 'error': {
      if (error?.code === 'held') return [heldMessage(result, resume)];
      const message = error?.message ?? `The run failed${cause}`;
      return items.length === 0 || resume === undefined
        ? [message]
        : [message, `The session is stored.${resumeHint}`];
    }
  }
}

/**
 * Returns the message for a session that a different process drives. The message of the log is for
 * programmers, so it is not used.
 */
function heldMessage({ session, cause }: RunResult, resume: string | undefined): string {
  const holder = isMillraceError(cause) ? cause.place['holder'] : undefined;
  const who = holder ?? 'another process';
  const way = resume === undefined ? '' : `, or follow and stop it: ${resume}`;
  return `Cannot continue session ${session}: ${who} runs it now. Wait until it is done${way}`;
}

function approvalMessage({ name, reason }: PendingApproval): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return oneLine(`${name} needs your approval${why}`, 200);
}

function parkedMessage({ session }: RunResult, resume: string | undefined): string {
  const way = resume === undefined ? '' : ` To decide and continue: ${resume}.`;
  const rules =
    'To allow such calls in advance: --allow <rule>, or --yes for all that need neither network nor a place outside of the sandbox';
  return `There is no user to approve, so session ${session} waits.${way} ${rules}`;
}
