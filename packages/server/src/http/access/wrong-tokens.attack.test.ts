import { createAgent } from '@millrace/agent';
import { memoryLog, systemClock } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import type { Rows, Table } from '../../contract/rows.ts';
import { fullGrant } from '../../contract/service.ts';
import { createServer } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import { startTestServer, testToken } from '../../testing/servers/test-server.ts';
import { createToken, TokenStore } from './token-store.ts';
import { UnknownReads } from './unknown-reads.ts';

// A client without a valid token sends requests with wrong tokens. The server reads each of them in its store, which
// can be a database with few connections.

const operator = testToken('operator');

/**
 * Rows that count the reads of a table. They can hold the reads that begin. With `isBatched`, they can read several
 * rows at once.
 */
function countedRows(table: Table, isBatched = false) {
  const rows = memoryRows();
  const ids: string[] = [];
  const state = {
    reads: 0,
    running: 0,
    most: 0,
    ids,
    held: undefined as Promise<void> | undefined,
  };
  const count = async <T>(of: Table, read: () => Promise<T>): Promise<T> => {
    if (of !== table) return read();
    state.reads++;
    state.running++;
    state.most = Math.max(state.most, state.running);
    await state.held;
    state.running--;
    return read();
  };
  const counted: Rows = {
    get: (of, id) => {
      if (of === table) ids.push(id);
      return count(of, () => rows.get(of, id));
    },
    ...(isBatched && {
      getMany: (of: Table, many: readonly string[]) => {
        ids.push(...many);
        const found = () => Promise.all(many.map((id) => rows.get(of, id)));
        return count(of, async () => (await found()).filter((row) => row !== undefined));
      },
    }),
    list: (of, query) => count(of, () => rows.list(of, query)),
    put: (...args) => rows.put(...args),
    delete: (...args) => rows.delete(...args),
    claim: (...args) => rows.claim(...args),
    close: () => rows.close(),
  };
  return { rows: counted, state };
}

const statusWith = async (url: string, token: string, address = '1.1.1.1') => {
  const headers = { authorization: `Bearer ${token}`, 'x-client': address };
  return (await fetch(`${url}/tasks`, { headers })).status;
};

const clientAddress = ({ headers }: { readonly headers: Headers }) =>
  headers.get('x-client') ?? undefined;

test('18.980: attack: texts that cannot be tokens are read in the store', async () => {
  const { rows, state } = countedRows('tokens');
  await using server = await startTestServer({ rows, operators: ['operator'] });
  const wrong = ['', 'a', 'mr_', `mr_${'x'.repeat(42)}`, `mr_${'x'.repeat(44)}`, 'x'.repeat(46)];
  for (const token of [...wrong, `mr_${'.'.repeat(43)}`])
    expect(await statusWith(server.url, token)).toBe(401);
  expect(state.reads).toBe(0);
});

test('18.981: attack: wrong tokens use all connections of the store', async () => {
  const { rows, state } = countedRows('tokens');
  const held = Promise.withResolvers<void>();
  await using server = await startTestServer({ rows, operators: ['operator'], clientAddress });
  const { token } = await server.options.tokens.issue({ scope: { kind: 'all' } }, fullGrant);
  expect(await statusWith(server.url, token)).toBe(200);
  state.most = 0;
  state.held = held.promise;
  const flood = Array.from({ length: 400 }, () => statusWith(server.url, createToken()));
  await expect.poll(() => state.running).toBe(2);
  // Those that wait are limited too.
  let refused = 0;
  for (const one of flood) void one.then((status) => status === 503 && refused++);
  await expect.poll(() => refused).toBe(198);
  expect(state.most).toBe(2);
  // The look-up of a known token does not wait for them.
  const known = statusWith(server.url, token);
  await expect.poll(() => state.running).toBe(3);
  held.resolve();
  expect(await known).toBe(200);
  const statuses = new Set(await Promise.all(flood));
  expect(statuses.has(200)).toBe(false);
});

test('18.982: attack: a new token waits for the wrong tokens of a different address', async () => {
  const { rows, state } = countedRows('tokens');
  const limits = { wrongTokenBurst: 1, wrongTokensPerSecond: 0.001 };
  await using server = await startTestServer({
    ...{ rows, operators: ['operator'], clientAddress, limits },
  });
  const { token, id } = await server.options.tokens.issue({ scope: { kind: 'all' } }, fullGrant);
  for (let sent = 0; sent < 2; sent++) await statusWith(server.url, createToken());
  const held = Promise.withResolvers<void>();
  state.held = held.promise;
  let refused = 0;
  const flood = Array.from({ length: 300 }, async () => {
    if ((await statusWith(server.url, createToken())) === 503) refused++;
  });
  await expect.poll(() => refused).toBe(98);
  const before = state.ids.length;
  const answered = statusWith(server.url, token, '2.2.2.2');
  // The new token takes the place of a wrong one.
  await expect.poll(() => refused).toBe(99);
  held.resolve();
  expect(await answered).toBe(200);
  await Promise.all(flood);
  expect(state.ids.indexOf(id) - before).toBe(0);
});

test('18.983: a look-up of a new client starts before those of suspect clients, and replaces one of them', async () => {
  const gate = Promise.withResolvers<void>();
  const started: string[] = [];
  const lookups = new UnknownReads({
    batchSize: 1,
    read: async (ids) => {
      started.push(...ids);
      await gate.promise;
      if (ids.includes('lost')) throw new Error('lost');
      return new Map(ids.map((id) => [id, `${id} is valid`]));
    },
  });
  const running = ['first', 'second'].map((id) => lookups.find(id));
  const suspect = Array.from({ length: 201 }, (_, at) =>
    lookups.find(`suspect ${at}`, true).catch(() => 'refused'),
  );
  const usual = lookups.find('usual');
  // Look-ups of one id that wait share their read.
  const same = lookups.find('usual');
  gate.resolve();
  expect(await Promise.all([...running, usual, same])).toEqual(
    ['first', 'second', 'usual', 'usual'].map((id) => `${id} is valid`),
  );
  expect((await Promise.all(suspect)).filter((one) => one === 'refused')).toHaveLength(2);
  expect(started.slice(0, 4)).toEqual(['first', 'second', 'usual', 'suspect 1']);
  expect(started).toHaveLength(202);
  // A read that fails leaves its place to the next one.
  const lost = ['lost', 'lost too', 'lost'].map((id) => lookups.find(id));
  await expect(lost[0]).rejects.toThrow('lost');
  await expect(lost[2]).rejects.toThrow('lost');
  expect(await lookups.find('next')).toBe('next is valid');
});

test('18.1210: one read answers all tokens that wait, so many clients can connect at once after a restart', async () => {
  const { rows, state } = countedRows('tokens', true);
  const [before, after] = [1, 2].map(() => new TokenStore(rows, [operator], systemClock));
  const issue = () => before?.issue({ scope: { kind: 'all' } }, fullGrant);
  const tokens = await Promise.all(Array.from({ length: 600 }, issue));
  Object.assign(state, { reads: 0, most: 0 });
  const grants = await Promise.all(tokens.map((one) => after?.issuedGrant(one?.token ?? '')));
  expect(grants.filter((grant) => grant === undefined)).toEqual([]);
  // Two reads start with one token each. The others wait for two reads with at most 500 tokens.
  expect([state.reads, state.most]).toEqual([4, 2]);
});

test('18.1211: attack: wrong tokens use all connections of a store that reads many rows, or its memory', async () => {
  const { rows, state } = countedRows('tokens', true);
  const tokens = new TokenStore(rows, [operator], systemClock);
  const { token } = await tokens.issue({ scope: { kind: 'all' } }, fullGrant);
  expect(await tokens.issuedGrant(token)).toBeDefined();
  const held = Promise.withResolvers<void>();
  Object.assign(state, { reads: 0, most: 0, held: held.promise });
  let refused = 0;
  const flood = Array.from({ length: 10_100 }, () =>
    tokens.issuedGrant(createToken(), true).catch(() => refused++),
  );
  await expect.poll(() => refused).toBe(10_100 - 10_002);
  // A new client takes the place of a suspect one, and a known token does not wait.
  const fresh = await tokens.issue({ scope: { kind: 'all' } }, fullGrant);
  const answered = tokens.issuedGrant(fresh.token);
  await expect.poll(() => refused).toBe(10_100 - 10_001);
  expect(state.most).toBe(2);
  const known = tokens.issuedGrant(token);
  expect(state.running).toBe(3);
  held.resolve();
  expect([await known, await answered]).toEqual([expect.anything(), expect.anything()]);
  const before = state.reads;
  await Promise.all(flood);
  // The new client did not wait for the others, and those share few reads.
  expect([before < 8, state.reads]).toEqual([true, 2 + 1 + 1 + 20]);
});

test('18.984: attack: a known token that another server revoked, or that expired, stays valid', async () => {
  const rows = memoryRows();
  const clock = new TestClock();
  const [here, there] = [1, 2].map(() => new TokenStore(rows, [operator], clock));
  const lifetimeMs = 1000;
  const request = { scope: { kind: 'all' } } as const;
  const revoked = await here?.issue(request, fullGrant);
  const expiring = await here?.issue({ ...request, lifetimeMs }, fullGrant);
  const isValid = async (token = '') => (await here?.issuedGrant(token)) !== undefined;
  for (let read = 0; read < 2; read++) {
    expect(await isValid(revoked?.token)).toBe(true);
    expect(await isValid(expiring?.token)).toBe(true);
  }
  await there?.revoke(revoked?.id ?? '');
  clock.jump(lifetimeMs);
  expect(await isValid(revoked?.token)).toBe(false);
  expect(await isValid(expiring?.token)).toBe(false);
});

test('18.985: attack: requests for /readyz read the stores as often as clients want', async () => {
  const { rows, state } = countedRows('agents');
  const log = memoryLog();
  let now = systemClock.now();
  const clock = { ...systemClock, now: () => now };
  const server = createServer({ rows, log, clock, tokens: [operator], agents: [] });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const isReady = async () => (await fetch(`${url}/readyz`)).status;
  expect(await isReady()).toBe(200);
  state.reads = 0;
  now += 1000;
  const held = Promise.withResolvers<void>();
  state.held = held.promise;
  const waiting = Array.from({ length: 100 }, isReady);
  await expect.poll(() => state.reads).toBe(1);
  held.resolve();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
  for (let asked = 0; asked < 50; asked++) expect(await isReady()).toBe(200);
  expect(state.reads).toBe(1);
  // A second later, the server checks again.
  now += 1000;
  const lost = Promise.withResolvers<void>();
  state.held = lost.promise;
  lost.promise.catch(() => {});
  lost.reject(new Error('lost'));
  expect(await isReady()).toBe(503);
  expect(await isReady()).toBe(503);
  expect(state.reads).toBe(2);
  state.held = undefined;
  now += 1000;
  expect(await isReady()).toBe(200);
});

test('18.986, 18.1200: attack: one address keeps the public card from everybody, or reads the agents as often as it wants', async () => {
  const { rows, state } = countedRows('agents');
  let now = systemClock.now();
  const log = memoryLog();
  const loop = (name: string) => ({
    ...({ type: 'loop', name } as const),
    agent: createAgent({ provider: scriptedProvider([]), log }),
  });
  const server = createServer({
    ...{ rows, log, tokens: [operator], a2a: { publicCards: true }, agents: [loop('a')] },
    clock: { ...systemClock, now: () => now },
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const at = (name: string) => `/agents/name/${name}/a2a/.well-known/agent-card.json`;
  const get = async (path: string) => {
    const answer = await fetch(url + path);
    const { name, code } = (await answer.json()) as { readonly name?: string; code?: string };
    return `${answer.status} ${name ?? code}`;
  };
  const main = '/.well-known/agent-card.json';
  expect(await get(main)).toBe('200 a');
  now += 1000;
  const held = Promise.withResolvers<void>();
  Object.assign(state, { reads: 0, most: 0, held: held.promise });
  // More requests than can wait for look-ups of unknown tokens: everybody gets the answer of the same read.
  const cards = Array.from({ length: 300 }, () => get(main));
  await expect.poll(() => state.running).toBe(1);
  held.resolve();
  expect(new Set(await Promise.all(cards))).toEqual(new Set(['200 a']));
  const { reads } = state;
  expect(state.most).toBe(1);
  // Neither the card of an agent nor an unknown path causes a further read.
  expect(await get(at('a'))).toBe('200 a');
  for (let sent = 0; sent < 50; sent++) expect(await get(at(`no-${sent}`))).toMatch(/^404 /);
  expect(state.reads).toBe(reads);
  now += 1000;
  expect(await get(at('no-0'))).toMatch(/^404 /);
  expect(await get(main)).toBe('200 a');
  expect(state.reads).toBe(2 * reads);
});

test('18.987: attack: requests for one public path deny the others', async () => {
  const limits = { requestBurst: 10, requestsPerSecond: 0.001 };
  await using server = await startTestServer({ operators: ['operator'], limits });
  for (let sent = 0; sent < 12; sent++) await server.request('/docs.css');
  expect((await server.request('/docs.css')).status).toBe(429);
  expect((await server.request('/healthz')).status).toBe(200);
});
