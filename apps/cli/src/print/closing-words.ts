import type { RunResult } from '@millrace/agent';
import { isMillraceError } from '@millrace/core';
import type { PendingApproval } from './pending-approvals.ts';
import { oneLine } from './printable.ts';

/** How a run ended, in words, and what to do next; none where it ended as it should. */
export function closingWords(
  result: RunResult,
  pending: readonly PendingApproval[] = [],
): readonly string[] {
  const { stop, session, error, items } = result;
  const goOn = `To go on: millrace --resume ${session}`;
  const cause = stop.cause === undefined ? '' : ` (${stop.cause})`;
  switch (stop.reason) {
    case 'stop':
    case 'tool_use':
    case 'pause':
      return [];
    case 'refusal':
      return ['The model refused to answer.'];
    case 'length':
      return [`The answer is cut off: it is as long as the model may write. ${goOn}`];
    case 'limit':
      return [`Stopped at a limit${cause}. ${goOn}`];
    case 'aborted':
      return [`Stopped; what was said is kept. ${goOn}`];
    case 'parked':
      return [...pending.map(asked), parked(session)];
    case 'content_filter':
      return [`The provider's content filter cut the answer off. ${goOn}`];
    case 'unknown':
      return [`The model stopped for a reason that is not known${cause}. ${goOn}`];
    case 'error': {
      if (error?.code === 'held') return [driven(result)];
      const said = error?.message ?? `The run failed${cause}`;
      return items.length === 0 ? [said] : [said, `What was said is kept. ${goOn}`];
    }
  }
}

/** The log itself speaks to programmers. */
function driven({ session, cause }: RunResult): string {
  const holder = isMillraceError(cause) ? cause.place['holder'] : undefined;
  const who = holder ?? 'somebody else';
  return `Cannot go on with session ${session}: ${who} drives it now. Wait until it is done, or follow it and stop it there: millrace --resume ${session}`;
}

function asked({ name, reason }: PendingApproval): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return oneLine(`${name} needs your approval${why}`, 200);
}

function parked(session: string): string {
  return (
    `Nobody is here to approve, so session ${session} waits. To decide and go on: millrace --resume ${session}. ` +
    'To allow such calls from the start: --allow <rule>, or --yes for all'
  );
}
