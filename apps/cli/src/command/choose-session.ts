import { randomIds, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { PlaceFlags } from '../args/command-hint.ts';
import type { SessionChoice } from '../contract/args.ts';
import { findSession } from '../store/session-summaries.ts';

interface ChooseSessionOptions {
  readonly log: Log;
  readonly cwd: string;
  readonly flags: PlaceFlags;
}

/**
 * Returns the session for a chat. If the user wants to choose one, the chat shows the list. Then
 * this function returns the id of a new session, and throws if the folder has no session.
 */
export async function chooseSession(
  choice: SessionChoice,
  { log, cwd, flags }: ChooseSessionOptions,
): Promise<SessionId> {
  const place = { cwd, flags, isFolderOnly: true };
  if (choice === 'pick') await findSession(log, 'last', place);
  if (choice === 'new' || choice === 'pick')
    return randomIds((bytes) => crypto.getRandomValues(bytes)).session();
  const { id } = await findSession(log, choice === 'last' ? choice : choice.id, place);
  return id;
}
