import type { RunResult } from '@millrace/agent';
import { isMillraceError, type SessionId } from '@millrace/core';
import type { SharedArgs } from '../contract/args.ts';
import type { PendingApproval } from './pending-approvals.ts';
import { oneLine } from './printable.ts';

interface ClosingOptions {
  readonly pending?: readonly PendingApproval[] | undefined;
  /** What to type to go on; none where the session is not kept. */
  readonly resume?: string | undefined;
}

/** How a run ended, in words, and what to do next; none where it ended as it should. */
export function closingWords(
  result: RunResult,
  { pending = [], resume }: ClosingOptions,
): readonly string[] {
  const { stop, error, items } = result;
  const goOn = resume === undefined ? '' : ` To go on: ${resume}`;
  const cause = stop.cause === undefined ? '' : ` (${stop.cause})`;
  switch (stop.reason) {
    case 'stop':
    case 'tool_use':
    case 'pause':
      return [];
    case 'refusal':
      return ['The model refused to answer.'];
    case 'length':
      return [`The answer is cut off: it is as long as the model may write.${goOn}`];
    case 'limit':
      return [`Stopped at a limit${cause}.${goOn}`];
    case 'aborted':
      return [resume === undefined ? 'Stopped' : `Stopped; what was said is kept.${goOn}`];
    case 'parked':
      return [...pending.map(asked), parked(result, resume)];
    case 'content_filter':
      return [`The provider's content filter cut the answer off.${goOn}`];
    case 'unknown':
      return [`The model stopped for a reason that is not known${cause}.${goOn}`];
    case 'error': {
      if (error?.code === 'held') return [driven(result, resume)];
      const said = error?.message ?? `The run failed${cause}`;
      return items.length === 0 || resume === undefined
        ? [said]
        : [said, `What was said is kept.${goOn}`];
    }
  }
}

/** The log itself speaks to programmers. */
function driven({ session, cause }: RunResult, resume: string | undefined): string {
  const holder = isMillraceError(cause) ? cause.place['holder'] : undefined;
  const who = holder ?? 'somebody else';
  const way = resume === undefined ? '' : `, or follow it and stop it there: ${resume}`;
  return `Cannot go on with session ${session}: ${who} drives it now. Wait until it is done${way}`;
}

function asked({ name, reason }: PendingApproval): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return oneLine(`${name} needs your approval${why}`, 200);
}

function parked({ session }: RunResult, resume: string | undefined): string {
  const way = resume === undefined ? '' : ` To decide and go on: ${resume}.`;
  const rules = 'To allow such calls from the start: --allow <rule>, or --yes for all';
  return `Nobody is here to approve, so session ${session} waits.${way} ${rules}`;
}

/** What to type to go on with a session. What said where it is kept is needed again. */
export function resumeCommand(
  { cwd, config, store }: Pick<SharedArgs, 'cwd' | 'config' | 'store'>,
  session: SessionId,
): string {
  const places = Object.entries({ cwd, config, store }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${quoted(value)}`],
  );
  return ['millrace', ...places, `--resume ${session}`].join(' ');
}

/** As a shell takes it for one word. */
function quoted(text: string): string {
  return /^[\w./:@%+,~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
