import type { Stop } from '@millrace/core';
import type { JournalTurn, TaskJournal } from '../contract/task-journal.ts';
import { closingDrafts } from './closing-drafts.ts';

/** Closes what a turn left open: whole where it came to its end, else as far as it came. */
export async function closeTurn(
  journal: TaskJournal,
  turn: JournalTurn,
  stop: Stop,
): Promise<void> {
  const isCut = stop.reason !== 'stop';
  const how = { isCut, stop: isCut ? stop : undefined };
  const drafts = closingDrafts(await journal.state(), turn.turn, how);
  if (drafts.length > 0) await turn.append(drafts);
}

/** Ends a turn in which something went wrong that is not the agent's; whatever can be written is. */
export async function abandonTurn(journal: TaskJournal, turn: JournalTurn): Promise<void> {
  const stop: Stop = { reason: 'error', cause: 'failed' };
  try {
    await closeTurn(journal, turn, stop);
    await turn.finish(stop);
  } catch {
    // Whoever drives the session next finds it open, and mends it.
  }
}
