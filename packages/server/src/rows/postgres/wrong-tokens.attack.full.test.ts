import { Agent, type IncomingMessage, request } from 'node:http';
import { memoryLog, systemClock } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { describeOnPostgres, usePostgres } from '../../../../log/src/testing/start-postgres.ts';
import { fullGrant } from '../../contract/service.ts';
import { createServer } from '../../create-server.ts';
import { createToken, TokenStore } from '../../http/access/token-store.ts';
import { testToken } from '../../testing/servers/test-server.ts';
import { postgresRows } from './postgres-rows.ts';

describeOnPostgres()('a server on Postgres', () => {
  const postgres = usePostgres();

  test('18.988: attack: thousands of wrong tokens keep a known token waiting for the database', async () => {
    const rows = await postgresRows({ url: postgres().url, schema: 'wrong_tokens' });
    const operator = testToken('operator');
    const limits = { requestsPerSecond: 1e6, requestBurst: 1e6, wrongTokenBurst: 1e6 };
    const server = createServer({ rows, log: memoryLog(), tokens: [operator], agents: [], limits });
    onTestFinished(async () => {
      await server.close();
      await rows.close();
    });
    const { url } = await server.listen({ port: 0 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const statusWith = async (token: string, from?: Agent) => {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const headers = { authorization: `Bearer ${token}` };
      request(`${url}/agents`, { headers, ...(from && { agent: from }) }, resolve)
        .on('error', reject)
        .end();
      const response = await promise;
      response.resume();
      return response.statusCode;
    };
    const body = '{}';
    const headers = { authorization: `Bearer ${operator}`, 'content-type': 'application/json' };
    const issued = await fetch(`${url}/tokens`, { method: 'POST', headers, body });
    const { token } = (await issued.json()) as { readonly token: string };
    expect(await statusWith(token, agent)).toBe(200);
    let answered = 0;
    let isOver = false;
    // 400 connections always wait for the answer to a wrong token.
    const others = new Agent({ keepAlive: true });
    onTestFinished(() => others.destroy());
    const flood = Array.from({ length: 400 }, async () => {
      while (!isOver) {
        const status = await statusWith(createToken(), others).catch(() => 0);
        expect(status).not.toBe(200);
        answered++;
      }
    });
    await expect.poll(() => answered).toBeGreaterThan(800);
    const counts: number[] = [];
    for (let sent = 0; sent < 5; sent++) {
      const before = answered;
      expect(await statusWith(token, agent)).toBe(200);
      counts.push(answered - before);
    }
    isOver = true;
    await Promise.all(flood);
    expect(Math.min(...counts)).toBeLessThan(150);
  });

  test('18.1212: 300 clients with tokens of their own connect at once after a restart', async () => {
    const rows = await postgresRows({ url: postgres().url, schema: 'many_tokens' });
    onTestFinished(() => rows.close());
    const [before, after] = [1, 2].map(
      () => new TokenStore(rows, [testToken('operator')], systemClock),
    );
    const issue = () => before?.issue({ scope: { kind: 'all' } }, fullGrant);
    const tokens = await Promise.all(Array.from({ length: 300 }, issue));
    const unknown = await after?.issuedGrant(createToken());
    const grants = await Promise.all(tokens.map((one) => after?.issuedGrant(one?.token ?? '')));
    expect([unknown, grants.filter((grant) => grant === undefined)]).toEqual([undefined, []]);
  });
});
