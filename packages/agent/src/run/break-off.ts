import { type DraftRecord, noUsage } from '@millrace/core';
import type { Journal } from '../journal/journal.ts';
import { closedParts } from './recover.ts';
import { responseFinished } from './response-finished.ts';

/** How a turn ends in which somebody else's code threw: the instructions, a filter, a provider. */
export const broken = { reason: 'error', cause: 'failed' } as const;

/** What is written then. What was said stays; a turn that has no response yet ends here. */
export function brokenOff({ loop, state }: Journal): readonly DraftRecord[] {
  const { turn } = loop;
  const error = { code: 'failed', message: 'Cannot go on: what the request is made of failed' };
  const reported = { type: 'error_reported', error } as const;
  if (turn === undefined) return [{ turn: 0, attempt: 0, fact: reported }];
  const at = { turn: turn.turn, attempt: turn.attempt };
  const usage = { ...noUsage, estimated: true };
  const end: DraftRecord =
    turn.itemId === undefined
      ? { turn: turn.turn, attempt: 0, fact: { type: 'turn_finished', stop: broken } }
      : responseFinished(at, turn.itemId, broken, usage);
  return [{ ...at, fact: reported }, ...closedParts(state, 'failed'), end];
}
