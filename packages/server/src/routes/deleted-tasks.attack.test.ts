import { sqliteRows } from '@millrace/server/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import type { Row, Rows } from '../contract/rows.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import {
  type AgentData,
  asUser,
  type Json,
  ScopeServer,
  userOfCookie,
} from '../testing/scope-requests.ts';
import { temporaryFolder } from '../testing/servers/task-harness.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A user deletes a task. The holders of older rights try to read it, and to write to it.

const stores: readonly (readonly [string, () => Promise<Rows>])[] = [
  ['memory', async () => memoryRows()],
  ['SQLite', async () => sqliteRows({ path: `${await temporaryFolder()}/rows.db` })],
];

/** Starts a server with a task of the user ann, deletes the task, and returns its ids and tokens. */
async function deletedTask(open: () => Promise<Rows>) {
  const rows = await open();
  const server = await ScopeServer.start({ rows, authorize: userOfCookie });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await rows.close();
  });
  const of = await server.createData('own', asUser('ann'));
  const left = await server.createData('others', asUser('ann'));
  const metadata = { task_metadata: { title: 'classified' } };
  await server.ask(asUser('ann'), 'PUT', `/tasks/${of.task_id}`, metadata);
  const agent = await server.createToken({ agent_id: of.agent_id });
  const { token: task, id } = await server.asOperator('POST', '/tokens', { task_id: of.task_id });
  const row = await rows.get('tokens', id);
  const deleted = await server.ask(asUser('ann'), 'DELETE', `/tasks/${of.task_id}`);
  expect(deleted.status).toBe(200);
  return { rows, server, of, left, agent, task, row };
}

/** The requests that read or write the rows of a task. */
const requests = ({
  task_id,
  agent_id,
  state_id,
  span_id,
}: AgentData): [string, string, Json?][] => [
  ['GET', '/states'],
  ['GET', `/states?agent_id=${agent_id}`],
  ['GET', `/states?task_id=${task_id}`],
  ['GET', `/states/${state_id}`],
  ['PUT', `/states/${state_id}`, { state: { a: 'changed' } }],
  ['DELETE', `/states/${state_id}`],
  ['GET', '/spans'],
  ['GET', '/spans?trace_id=trace'],
  ['GET', `/spans?task_id=${task_id}`],
  ['GET', `/spans/${span_id}`],
  ['PATCH', `/spans/${span_id}`, { name: 'changed' }],
  ['POST', '/spans', { trace_id: 't', name: 'x', start_time: '2026-01-01T00:00:00Z', task_id }],
  ['GET', '/tracker'],
  ['GET', `/tracker/${task_id}`],
  ['PUT', `/tracker/${task_id}`, { status: 'changed' }],
  ['GET', '/tasks?status=DELETED'],
];

/** Sends all requests with a token, and checks that none of them finds the deleted task. */
async function expectNothing(server: ScopeServer, of: AgentData, token: string): Promise<void> {
  for (const [method, path, body] of requests(of)) {
    const { status, text } = await server.ask(token, method, path, body);
    const isEmpty = status === 200 && text === '[]';
    expect([method, path, isEmpty || [403, 404].includes(status)]).toEqual([method, path, true]);
    expect(text).not.toContain('classified');
  }
}

test.each(stores)(
  '18.551: attack: a token for a task stays valid after the task was deleted (%s)',
  async (_store, open) => {
    const { server, of, task } = await deletedTask(open);
    for (const [method, path, body] of requests(of))
      expect((await server.ask(task, method, path, body)).status).toBe(401);
    expect(await server.asOperator('GET', `/tokens?task_id=${of.task_id}`)).toEqual([]);
  },
);

test.each(stores)(
  '18.552: attack: older rights read or change the states and spans of a deleted task (%s)',
  async (_store, open) => {
    const { rows, server, of, agent, task, row } = await deletedTask(open);
    await expectNothing(server, of, agent);
    await expectNothing(server, of, asUser('ann'));
    // A process that crashed during the deletion did not delete the token.
    await rows.put('tokens', row as Row);
    await expectNothing(server, of, task);
  },
);

test('18.553: attack: deleted tasks hide the states of other tasks from pages of a list', async () => {
  const { server, left } = await deletedTask(async () => memoryRows());
  const others = await server.createToken({ agent_id: left.agent_id });
  const create = { method: 'task/create', params: {} };
  const made: Json[] = [];
  for (let count = 0; count < 4; count++) {
    const path = `/agents/${left.agent_id}/rpc`;
    const { result } = await server.asOperator('POST', path, create);
    const state = { task_id: result.id, agent_id: left.agent_id, state: {} };
    made.push(await server.asOperator('POST', '/states', state));
  }
  for (const { task_id } of made.slice(0, 3))
    await server.asOperator('DELETE', `/tasks/${task_id}`);
  const { text } = await server.ask(others, 'GET', '/states?limit=2');
  const shown = (JSON.parse(text) as Json[]).map(({ id }) => id);
  expect(shown.toSorted()).toEqual([left.state_id, made[3].id].toSorted());
  // An operator reads all of them.
  expect(await server.asOperator('GET', `/states?agent_id=${left.agent_id}`)).toHaveLength(5);
  expect((await server.ask(testToken('operator'), 'GET', `/states/${made[0].id}`)).status).toBe(
    200,
  );
});
