import { randomIds, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { SessionChoice } from '../args/args.ts';
import { findSession } from '../store/find-session.ts';
import type { Host } from './host.ts';
import { pickSession } from './pick-session.ts';

export interface OpeningOptions {
  readonly log: Log;
  readonly cwd: string;
  readonly host: Pick<Host, 'stdin' | 'stdout' | 'signal'>;
}

/** The session of a chat; undefined where a person was to choose one and chose none. */
export async function sessionToOpen(
  choice: SessionChoice,
  { log, cwd, host }: OpeningOptions,
): Promise<SessionId | undefined> {
  if (choice === 'new') return randomIds((bytes) => crypto.getRandomValues(bytes)).session();
  if (choice === 'pick') return pickSession(log, cwd, host);
  const { id } = await findSession(log, choice === 'last' ? choice : choice.id, cwd);
  return id;
}
