import { TestClock } from '@millrace/log/suite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgentData, guardedByStatus, ScopeServer } from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A link to a session contains a token that can only read this session and that expires. The holder of the
// link tries all operations.

const clock = new TestClock();
let server: ScopeServer;
let own: AgentData;
let others: AgentData;
let share: string;
const link = () => ({ task_id: own.task_id, read_only: true, label: 'share link', expires_in: 60 });

beforeAll(async () => {
  server = await ScopeServer.start({ clock });
  [own, others] = [await server.createData('own'), await server.createData('others')];
  share = await server.createToken(link());
});

afterAll(() => server[Symbol.asyncDispose]());

const named = (kind: 'reading' | 'other') =>
  guardedByStatus
    .filter(({ method }) => ['GET', 'HEAD'].includes(method) === (kind === 'reading'))
    .filter(
      ({ name }) =>
        ![
          'GET /access',
          'GET /experiments',
          'GET /search',
          'GET /statistics/attempts',
          'GET /v1/models',
        ].includes(name),
    )
    .map((operation) => [operation.name, operation] as const);

test.each(named('other'))(
  'attack 22: %s is refused for the shared session itself',
  async (_, of) => {
    expect((await server.send(share, of, own)).status).toBe(403);
  },
);

test.each(named('reading'))('attack 22: %s shows nothing of another session', async (_, of) => {
  const { status, text } = await server.send(share, of, others);
  expect([403, 404]).toContain(status);
  expect(text).not.toContain('classified');
});

test('attack 22: lists contain only the shared session', async () => {
  const list = async (path: string) => JSON.parse((await server.ask(share, 'GET', path)).text);
  const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id);
  expect(ids(await list('/tasks?limit=1000'))).toEqual([own.task_id]);
  expect(ids(await list(`/tasks?search=${others.task_id}`))).toEqual([]);
  expect(ids(await list('/agents?limit=1000'))).toEqual([own.agent_id]);
});

test('attack 22: a blob of another session is not found through the shared one', async () => {
  const path = `/tasks/${own.task_id}/blobs/${others.hash}`;
  expect((await server.ask(share, 'GET', path)).status).toBe(404);
});

test('22: the holder of a link sees its own rights, and its text is in no list', async () => {
  const { text } = await server.ask(share, 'GET', '/access');
  expect(JSON.parse(text)).toEqual({
    ...{ scope: 'task', agent_id: null, task_id: own.task_id, read_only: true },
    ...{ expires_at: new Date(clock.now() + 60_000).toISOString(), is_token_required: true },
  });
  const listed = await server.ask(testToken('operator'), 'GET', `/tokens?task_id=${own.task_id}`);
  expect(JSON.parse(listed.text)).toMatchObject([{ task_id: own.task_id, label: 'share link' }]);
  expect(listed.text).not.toContain(share);
  const other = await server.asOperator('GET', `/tokens?task_id=${others.task_id}`);
  expect(other).toEqual([]);
});

test('attack 22: a revoked link and an expired link give nothing', async () => {
  const path = `/tasks/${own.task_id}`;
  const revoked = await server.asOperator('POST', '/tokens', link());
  expect((await server.ask(revoked.token, 'GET', path)).status).toBe(200);
  await server.asOperator('DELETE', `/tokens/${revoked.id}`);
  expect((await server.ask(revoked.token, 'GET', path)).status).toBe(401);
  clock.jump(60_000);
  expect((await server.ask(share, 'GET', path)).status).toBe(401);
});
