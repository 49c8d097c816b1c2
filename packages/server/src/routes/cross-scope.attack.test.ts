import { memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryRows } from '../rows/memory-rows.ts';
import { runSmallExperiment } from '../testing/experiment-logs.ts';
import {
  type AgentData,
  guardedByStatus,
  nothing,
  ScopeServer,
  type TestAnswer,
} from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// Tries every operation with every kind of token that must not be sufficient for it. Each combination is one
// attack.

const clock = new TestClock();
const rows = memoryRows();
const log = memoryLog();
let server: ScopeServer;
let others: AgentData;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  await using open = await ScopeServer.start({ rows, log, clock, tokens: 'none' });
  const issuedOpenly = await (
    await fetch(new URL('/tokens', open.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
  ).json();
  server = await ScopeServer.start({ rows, log, clock });
  const own = await server.createData('own');
  others = await server.createData('others');
  for (const name of ['classified', 'classified-2']) await runSmallExperiment(log, name);
  Object.assign(tokens, {
    open: (issuedOpenly as { readonly token: string }).token,
    unknown: `mr_${'x'.repeat(43)}`,
    cut: testToken('operator').slice(0, -1),
    empty: '',
    expired: await server.createToken({ expires_in: 1 }),
    agent: await server.createToken({ agent_id: own.agent_id }),
    agentName: await server.createToken({ agent_name: 'own' }),
    task: await server.createToken({ task_id: own.task_id }),
    reader: await server.createToken({ read_only: true }),
  });
  clock.jump(1000);
});

afterAll(() => server[Symbol.asyncDispose]());

describe.each(guardedByStatus.map((operation) => [operation.name, operation] as const))(
  '%s',
  (_, operation) => {
    test.each([
      ['no token', undefined],
      ['an unknown token', 'unknown'],
      ['a part of the operator token', 'cut'],
      ['an empty token', 'empty'],
      ['an expired token', 'expired'],
      ['a token that a server without tokens issued', 'open'],
    ])('attack 20: is rejected with %s', async (_what, name) => {
      const token = name === undefined ? undefined : tokens[name];
      expect((await server.send(token, operation, others)).status).toBe(401);
    });

    // These operations contain no ids of other resources. Their replies contain only resources in the scope.
    const lists = [
      'GET /access',
      'GET /experiments',
      'GET /search',
      'GET /statistics/attempts',
      'GET /v1/models',
    ];
    if (lists.includes(operation.name)) {
      test.each(['agent', 'agentName', 'task'])(
        '18.1601: attack: a list names something of another caller (%s)',
        async (name) => {
          const answer = await server.send(tokens[name], operation, others);
          expect([200, 403]).toContain(answer.status);
          // The search finds this word in tasks of the caller too.
          const words = operation.name === 'GET /search' ? [] : ['classified'];
          for (const word of [...words, others.task_id, others.agent_id, others.agent_name])
            expect(answer.text).not.toContain(word);
        },
      );
      return;
    }

    test.each([
      ['another agent', 'agent'],
      ['another agent, requested by name', 'agentName'],
      ['another agent’s task', 'task'],
    ])(
      'attack 20: is rejected with the token of %s, as if nothing existed',
      async (_what, name) => {
        const answer = await server.send(tokens[name], operation, others);
        expect([403, 404]).toContain(answer.status);
        expect(answer.text).not.toContain('classified');
        // The server rejects a missing resource with the same text. A client therefore cannot find out which
        // resources exist.
        const absent = await server.send(tokens[name], operation, nothing);
        const [a, b] = [masked(answer, others), masked(absent, nothing)];
        if (a.status === 404 && b.status === 404) expect(a).toEqual(b);
      },
    );
  },
);

test.each(
  guardedByStatus
    .filter(({ method }) => method !== 'GET' && method !== 'HEAD')
    .map((operation) => [operation.name, operation] as const),
)('attack 20: %s is rejected with a read-only token', async (_, operation) => {
  expect((await server.send(tokens['reader'], operation, others)).status).toBe(403);
});

test('18.170: attack: a span without a task is read, changed or taken by another agent', async () => {
  const id = 'span-of-the-operator';
  const start_time = '2026-01-01T00:00:00Z';
  const span = { id, trace_id: 'trace', name: 'classified', start_time };
  await server.asOperator('POST', '/spans', span);
  const [agent, agents] = [tokens['agent'], await server.createToken({ agent_name: 'others' })];
  const own = { ...span, id: 'span-of-an-agent' };
  expect((await server.ask(agents, 'POST', '/spans', own)).status).toBeLessThan(300);
  for (const one of [id, own.id]) {
    expect((await server.ask(agent, 'GET', `/spans/${one}`)).status).toBe(404);
    const body = { name: 'forged' };
    expect((await server.ask(agent, 'PATCH', `/spans/${one}`, body)).status).toBe(404);
  }
  expect((await server.ask(agents, 'PATCH', `/spans/${own.id}`, { name: 'b' })).status).toBe(200);
  const found = await server.ask(agents, 'GET', `/spans/${own.id}`);
  expect(JSON.parse(found.text)).toMatchObject({ name: 'b' });
  expect(found.text).not.toContain('owner');
});

test('18.1607: attack: an id of a span tells how often another caller changed it', async () => {
  const start_time = '2026-01-01T00:00:00Z';
  const span = { id: 'run-of-others', trace_id: 't', name: 'n', start_time };
  const { task_id } = others;
  await server.asOperator('POST', '/spans', { ...span, task_id });
  for (const name of ['a', 'b', 'c'])
    await server.asOperator('PATCH', `/spans/${span.id}`, { name });
  const own = await server.createToken({ agent_name: 'own' });
  const taken = await server.ask(own, 'POST', '/spans', span);
  expect([taken.status, JSON.parse(taken.text).message]).toEqual([
    409,
    'Cannot use this id: another span has it. Choose another id, or leave it out',
  ]);
  expect(taken.text).not.toMatch(/version|\b4\b/);
  // The owner still learns the reason.
  const again = await server.createToken({ task_id });
  const { text } = await server.ask(again, 'POST', '/spans', { ...span, task_id });
  expect(text).toContain('version');
});

/** Removes the ids and names of the request from the answer. */
function masked({ status, text }: TestAnswer, of: AgentData): TestAnswer {
  const names = Object.values(of).toSorted((a, b) => b.length - a.length);
  return { status, text: names.reduce((left, name) => left.replaceAll(name, '…'), text) };
}
