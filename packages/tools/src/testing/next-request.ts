import { createAgent } from '@millrace/agent';
import { type JsonValue, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { fetchOf } from '../../../providers/src/testing/fetch-of.ts';
import { wireTable } from '../../../providers/src/testing/wire-table.ts';

/** What is wrong with the next request of a session, by the rules of each provider. */
export async function faultsOfNext(log: Log, session: SessionId): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const { wire, provider, faults: faultsOf, read } of wireTable) {
    const { fetch, requests } = fetchOf([]);
    const through = (await log.info(session))?.through ?? 0;
    const into = sessionId(`${session} for ${wire}`);
    await log.fork(session, { into, through });
    const agent = createAgent({ log, provider: provider(fetch, wire), retry: { maxAttempts: 1 } });
    await agent.run('And now?', { session: into }).result;
    const body = JSON.parse(JSON.stringify(requests[0]?.body ?? null)) as JsonValue;
    if (body === null) faults.push(`${wire}: nothing was sent`);
    else faults.push(...faultsOf(body, read([])).map((fault) => `${wire}: ${fault}`));
  }
  return faults;
}
