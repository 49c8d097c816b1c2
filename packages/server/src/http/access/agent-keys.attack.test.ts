import { TestClock } from '@millrace/log/suite';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Json, ScopeServer } from '../../testing/scope-requests.ts';

// A remote agent has a key that does not expire. Clients of the agent have tokens with fewer rights.

let server: ScopeServer;
const clock = new TestClock();
const registration = (acp_url = 'http://127.0.0.1:1') => ({
  ...{ name: 'far', description: '', acp_url, acp_type: 'sync' },
});
const register = (): Promise<Json> => server.asOperator('POST', '/agents/register', registration());

beforeEach(async () => {
  server = await ScopeServer.start({ clock });
  onTestFinished(() => server[Symbol.asyncDispose]());
});

test.each([
  ['for this agent', { agent_name: 'far' }],
  ['for this agent that expires', { agent_name: 'far', expires_in: 2 }],
  ['for this agent that only reads', { agent_name: 'far', read_only: true }],
  ['for everything that expires', { expires_in: 2 }],
  ['for everything that only reads', { read_only: true }],
])('attack: a token %s does not redirect the agent and gets no key', async (_what, body) => {
  await register();
  const token = await server.createToken(body);
  const evil = registration('http://127.0.0.1:2');
  const answer = await server.ask(token, 'POST', '/agents/register', evil);
  expect(answer.status).toBe(403);
  expect(answer.text).not.toContain('agent_api_key');
});

test('attack: a token of a task of the agent does not redirect the agent', async () => {
  await register();
  const create = { method: 'task/create', params: {} };
  const { result } = await server.asOperator('POST', '/agents/name/far/rpc', create);
  const token = await server.createToken({ task_id: result.id });
  const answer = await server.ask(token, 'POST', '/agents/register', registration());
  expect(answer.status).toBe(403);
});

test('an agent registers itself again with its own key, and no other agent', async () => {
  const { agent_api_key: key } = await register();
  const again = await server.ask(key, 'POST', '/agents/register', registration());
  expect(again.status).toBe(200);
  expect(JSON.parse(again.text).agent_api_key).toBe(key);
  const other = { ...registration(), name: 'far-2' };
  expect((await server.ask(key, 'POST', '/agents/register', other)).status).toBe(403);
});
