import { randomIds, type SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { SessionChoice } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import {
  findSession,
  forkText,
  listSummaries,
  type SessionSummary,
} from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { askUser } from './ask-user.ts';

interface ChooseSessionOptions {
  readonly log: Log;
  readonly cwd: string;
  readonly host: Pick<Host, 'stdin' | 'stdout' | 'signal'>;
}

/** Returns the session for a chat. Returns undefined if the user cancels the choice. */
export async function chooseSession(
  choice: SessionChoice,
  { log, cwd, host }: ChooseSessionOptions,
): Promise<SessionId | undefined> {
  if (choice === 'new') return randomIds((bytes) => crypto.getRandomValues(bytes)).session();
  if (choice === 'pick') return pickSession(log, cwd, host);
  const { id } = await findSession(log, choice === 'last' ? choice : choice.id, cwd);
  return id;
}

const maxListed = 20;
const maxTries = 3;

/**
 * Lists the sessions of the folder and asks the user to choose one. Returns undefined if the user
 * cancels.
 */
async function pickSession(
  log: Log,
  cwd: string,
  host: Pick<Host, 'stdin' | 'stdout' | 'signal'>,
): Promise<SessionId | undefined> {
  const shown = (await listSummaries(log, { cwd })).slice(0, maxListed);
  // Without sessions, `findSession` throws an error that tells how to start one.
  if (shown.length === 0) return (await findSession(log, 'last', cwd)).id;
  writeText(host.stdout, `${shown.map(listLine).join('\n')}\n`);
  for (let left = maxTries; left > 0; left--) {
    const answer = await askUser(host, `Which one? 1 to ${shown.length}, or Enter for the first: `);
    const chosen = shown[answer?.trim() === '' ? 0 : Number(answer) - 1];
    if (answer === undefined || chosen !== undefined) return chosen?.id;
  }
  return undefined;
}

function listLine(summary: SessionSummary, index: number): string {
  const { title, changedAt, hasWork } = summary;
  const fork = forkText(summary);
  const when = new Date(changedAt).toLocaleString('sv-SE').slice(0, 16);
  return `${String(index + 1).padStart(3)}  ${when}  ${oneLine(title, 50)}${hasWork ? '  (not finished)' : ''}${fork === undefined ? '' : `  (${fork})`}`;
}
