import {
  type Ids,
  isMillraceError,
  type MillraceError,
  type SessionId,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import type { LoopAgent } from '../../contract/served-agent.ts';
import { ServerError } from '../../contract/server-error.ts';

/** Maximum number of checks per agent. A check is repeated only if a backup was restored during the check. */
const maxChecks = 3;

/**
 * The result of one check. `unknown` means that the session of the check disappeared or changed during the
 * check, for example because a backup of the log was restored.
 */
type CheckResult = 'same' | 'other' | 'unknown';

/**
 * Throws if an agent loop uses a different log than the server. Agent loops write their own records, so both
 * must use the same log. If the log fails during the check, it throws the error of the log.
 */
export async function assertSameLog(log: Log, { name, agent }: LoopAgent, ids: Ids): Promise<void> {
  for (let checks = 0; checks < maxChecks; checks++) {
    const result = await check(log, agent, sessionId(`probe-${ids.session()}`));
    if (result === 'same') return;
    if (result === 'other') throw otherLog(name);
  }
  const message = `Cannot check the log of agent ${name}: each session of the check disappeared. Try again when no backup is being restored`;
  throw new ServerError('unavailable', message, { agent: name });
}

/**
 * Closes a new session on the server's log and lets the agent loop resume it. The loop finds the session
 * closed only if it uses the same log.
 */
async function check(
  log: Log,
  agent: LoopAgent['agent'],
  session: SessionId,
): Promise<CheckResult> {
  try {
    const driver = await log.open(session, { holder: 'server' });
    await driver.closeSession();
    const { stop, cause } = await agent.resume(session).result;
    if (stop.cause === 'session_closed') return 'same';
    if (isLogError(cause)) throw cause;
    return (await log.info(session))?.isClosed === true ? 'other' : 'unknown';
  } catch (error) {
    if (isLogError(error) && changes.has(error.code)) return 'unknown';
    throw error;
  } finally {
    await log.delete(session);
  }
}

/** Codes of the errors that a driver or a reader gets if its session was removed, replaced or rewound. */
const changes: ReadonlySet<string> = new Set([
  'fenced',
  'held',
  'no_session',
  'rewound',
  'session_closed',
]);

function isLogError(error: unknown): error is MillraceError {
  return isMillraceError(error) && error.name === 'LogError';
}

function otherLog(agent: string): ServerError {
  const message = `Cannot serve agent ${agent}: it uses another log. Create it with the same log as the server`;
  return new ServerError('internal', message, { agent });
}
