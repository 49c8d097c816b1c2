import { createAgent } from '@millrace/agent';
import { type JsonValue, type SessionId, sessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { fetchOf } from '../../../providers/src/testing/fetch-of.ts';
import { type WireUnderTest, wireTable } from '../../../providers/src/testing/wire-table.ts';

/** Returns the faults of the next request of a session, by the rules of each provider. */
export async function nextRequestFaults(log: Log, session: SessionId): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const under of wireTable) {
    const { wire, faults: faultsOf, read } = under;
    const body = await nextBody(log, session, under);
    if (body === null) faults.push(`${wire}: nothing was sent`);
    else faults.push(...faultsOf(body, read([])).map((fault) => `${wire}: ${fault}`));
  }
  return faults;
}

/** Returns the length of the next request of a session as JSON, for each provider. */
export async function nextRequestLengths(log: Log, session: SessionId): Promise<readonly number[]> {
  const lengths: number[] = [];
  for (const under of wireTable)
    lengths.push(JSON.stringify(await nextBody(log, session, under)).length);
  return lengths;
}

async function nextBody(
  log: Log,
  session: SessionId,
  { wire, provider }: WireUnderTest,
): Promise<JsonValue> {
  const { fetch, requests } = fetchOf([]);
  const through = (await log.info(session))?.through ?? 0;
  const into = sessionId(`${session} for ${wire}`);
  await log.fork(session, { into, through });
  const agent = createAgent({ log, provider: provider(fetch, wire), retry: { maxAttempts: 1 } });
  await agent.run('And now?', { session: into }).result;
  return JSON.parse(JSON.stringify(requests[0]?.body ?? null)) as JsonValue;
}
