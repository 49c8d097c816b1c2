import type { SessionId } from '@millrace/core';
import { type Log, LogError } from '@millrace/log';
import { askYesNo } from '../command/ask-user.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { findChildSessions } from '../store/child-sessions.ts';
import { findSession, type SessionSummary } from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';
import type { SessionsContext } from './sessions-context.ts';

/**
 * Deletes sessions. It asks the user first, unless `--yes` is given. Throws if a process drives one
 * of the sessions.
 */
export async function deleteSessions(context: SessionsContext): Promise<number> {
  const { args, log, notes, cwd } = context;
  // All sessions are looked up before the first one is deleted. So a mistyped id deletes no
  // session.
  const found = new Map<SessionId, SessionSummary>();
  for (const which of args.operands) {
    const session = await findSession(log, which, { cwd, flags: args, isFolderOnly: true });
    found.set(session.id, session);
  }
  for (const session of found.values()) {
    const isMeant = args.yes || (await confirmDelete(session, context));
    if (!isMeant) {
      await notes.write('No further session was deleted\n');
      return exitCodes.aborted;
    }
    const count = await deleteWithChildren(log, session.id);
    const more = count > 1 ? ` and ${count - 1} of its sub-agents` : '';
    await notes.write(`Deleted session ${session.id}${more}\n`);
  }
  return exitCodes.done;
}

async function confirmDelete(
  { id, title, hasWork }: SessionSummary,
  { stdin, notes, signal, clock }: SessionsContext,
): Promise<boolean> {
  if (!stdin.isTTY)
    throw new UsageError('Cannot ask for confirmation: there is no terminal. Use --yes');
  const state = hasWork ? ', which is not finished' : '';
  const question = `Delete session ${id} (${oneLine(title, 60)})${state}? It cannot be undone.`;
  return (await askYesNo({ stdin, stdout: notes.stream, signal, clock }, question)) === true;
}

/**
 * Deletes a session and the sessions of its sub-agents. If a fork may refer to the sub-agents,
 * their sessions are kept. Returns the number of deleted sessions.
 */
export async function deleteWithChildren(log: Log, session: SessionId): Promise<number> {
  const isForked = (await log.list()).some(
    (info) => info.origin?.session === session || (info.session === session && info.origin),
  );
  const children = isForked ? [] : await findChildSessions(log, session);
  await deleteOne(log, session);
  for (const child of children) await deleteOne(log, child);
  return children.length + 1;
}

/**
 * Deletes one session. It takes the lease first, so that no other process can drive the session.
 */
async function deleteOne(log: Log, session: SessionId): Promise<void> {
  const info = await log.info(session);
  if (info?.isClosed !== false || info.isDamaged) {
    await log.delete(session);
    return;
  }
  const driver = await log.open(session, { holder: 'millrace sessions delete' }).catch(rethrowHeld);
  const isDeleted = await log.delete(session);
  if (!isDeleted) await driver.release();
}

function rethrowHeld(error: unknown): never {
  if (!(error instanceof LogError) || error.code !== 'held') throw error;
  const { session, holder } = error.place;
  const message = `Cannot delete session ${session}: ${holder} runs it. Stop it there first, or wait until it is done`;
  throw new LogError('held', message, error.place, { cause: error });
}
