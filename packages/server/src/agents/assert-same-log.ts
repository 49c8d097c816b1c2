import { type Ids, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { LoopAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';

/**
 * An agent loop writes its own records, so it has to have the server's log. One that does finds a
 * session that was closed; one that does not finds none.
 */
export async function assertSameLog(log: Log, { name, agent }: LoopAgent, ids: Ids): Promise<void> {
  const probe = sessionId(`probe-${ids.session()}`);
  const driver = await log.open(probe, { holder: 'server' });
  try {
    await driver.closeSession();
    const { stop } = await agent.resume(probe).result;
    if (stop.cause === 'session_closed') return;
  } finally {
    await log.delete(probe);
  }
  const message = `Cannot serve agent ${name}: it keeps its sessions in another log. Create it with the log that the server has`;
  throw new ServerError('internal', message, { agent: name });
}
