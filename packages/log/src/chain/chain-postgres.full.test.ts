import { sessionId } from '@millrace/core';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { postgresLog } from '../postgres/postgres-log.ts';
import { answerId, markers, wholeTurn } from '../suite/drafts.ts';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { verifySession } from './verify.ts';

const describe = describeOnPostgres();
const server = usePostgres();
const session = sessionId('orders');

describe('25.6: a chained log in Postgres', () => {
  test('verifies after rewrites of two processes, and finds a changed row', async () => {
    const { url } = server();
    const log = postgresLog({ url, chain: true });
    const driver = await log.open(session);
    for (const turn of [1, 2, 3]) await driver.append(wholeTurn(turn, ['Your order ', 'is late']));
    // The second log has no option. Its writes continue the chain of the session.
    const other = postgresLog({ url });
    await other.submit(session, { type: 'abort' }, 'stop');
    await Promise.all([
      driver.append(markers(5)),
      other.submit(session, { type: 'abort' }, 'again'),
    ]);
    await other.settle(session, 1);
    await other.redact(session, answerId(2), 'private');
    await log.settle(session, 2);
    await driver.append(wholeTurn(4, ['Bye']));
    await log.fork(session, { into: 'fork', through: 9 });
    for (const one of [session, 'fork'])
      expect(await verifySession(log, one)).toMatchObject({ isValid: true, problems: [] });
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rowCount } = await client.query(
      "UPDATE millrace_log.chunks SET body = replace(body, 'is late', 'is lost')",
    );
    await client.end();
    expect(rowCount).toBeGreaterThan(0);
    expect(await verifySession(other, session)).toMatchObject({ isValid: false });
    await Promise.all([log.close(), other.close()]);
  });
});
