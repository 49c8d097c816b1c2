import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentData,
  bodyOf,
  guarded,
  type Json,
  ScopeServer,
} from '../testing/scope-requests.ts';
import { testToken } from '../testing/servers/test-server.ts';

// A server that ignores an unknown field can grant more rights than the client requested. For example,
// `{"agent_nam":"echo"}` would create a token for everything.

let server: ScopeServer;
let own: AgentData;
const operator = testToken('operator');
// AG-UI, MCP and A2A require that a server accepts unknown fields, so that newer clients work with older servers.
const withBody = guarded.filter(
  ({ hasBody, path }) => hasBody && !/\/(?:ag-ui|mcp)$|\/a2a(?:\/|$)/.test(path),
);

beforeAll(async () => {
  server = await ScopeServer.start();
  own = await server.createData('own');
});
afterAll(() => server[Symbol.asyncDispose]());

/** The paths of the objects in a body that have a fixed list of fields. All other objects are free JSON. */
const closedPlaces = [
  ...['', 'params', 'params.content', 'content', 'contents.0', 'messages.0'],
] as const;

const places = withBody.flatMap((operation) => {
  const body = bodyOf(operation, {} as AgentData);
  // Clients of OpenAI send messages back with all fields that they received.
  const isOpen = (place: string) => operation.path.startsWith('/v1/') && place !== '';
  return closedPlaces
    .filter((place) => isObject(valueAt(body, place)) && !isOpen(place))
    .map((place) => [operation.name, place === '' ? 'its root' : place, operation, place] as const);
});

test.each(places)(
  'attack 20: %s refuses an unknown field in %s',
  async (_name, _where, operation, place) => {
    const body = structuredClone(bodyOf(operation, own));
    valueAt(body, place)['agent_nam'] = 'own';
    const { status, text } = await server.send(operator, operation, own, body);
    const code = JSON.parse(text).error?.code;
    // JSON-RPC reports errors in its own envelope.
    const isRpc = operation.path.endsWith('/rpc');
    const isOpenAi = operation.path.startsWith('/v1/');
    expect([status, isRpc ? [-32600, -32602].includes(code) : code]).toEqual(
      isRpc ? [200, true] : isOpenAi ? [400, 'invalid_value'] : [422, 'invalid'],
    );
    expect(text).not.toContain('"token"');
  },
);

describe('a token', () => {
  const create = (body: object, token = operator) => server.ask(token, 'POST', '/tokens', body);

  test.each([
    ['agentName', 'agent_name'],
    ['agent', 'agent_id'],
    ['agent_nam', 'agent_name'],
    ['agentId', 'agent_id'],
    ['taskId', 'task_id'],
    ['readonly', 'read_only'],
    ['readOnly', 'read_only'],
    ['expires', 'expires_in'],
    ['expires_at', 'expires_in'],
    ['scope', undefined],
  ])('attack 20: is not created without its restriction by %s', async (field, near) => {
    const { status, text } = await create({ [field]: 'own' });
    expect([status, text]).toEqual([422, expect.stringContaining(`unknown fields: ${field}`)]);
    if (near !== undefined) expect(text).toContain(`did you mean ${near}?`);
  });

  test('attack 20: for an agent by its name reaches no other agent and creates no tokens', async () => {
    const { status, text } = await create({ agent_name: 'own' });
    expect([status, JSON.parse(text).agent_id]).toEqual([201, own.agent_id]);
    const { token } = JSON.parse(text);
    expect((await server.ask(token, 'GET', '/agents/name/others')).status).toBe(404);
    expect((await create({}, token)).status).toBe(403);
  });

  test.each([
    { agent_name: 'own', agent_id: 'x' },
    { agent_name: 'own', task_name: 'task of own' },
    { task_id: 'x', task_name: 'y' },
  ])('attack 20: with the two restrictions %j is refused', async (body) => {
    expect((await create(body)).status).toBe(422);
  });

  test.each([{ agent_name: 'nobody' }, { task_name: 'nothing' }])(
    'attack 20: for the missing %j is not created',
    async (body) => {
      expect((await create(body)).status).toBe(404);
    },
  );

  test.each([
    ['', {}],
    [' longer', { expires_in: 7200 }],
  ])('attack 20: that expires creates none that lasts%s', async (_what, body) => {
    const { token, expires_at } = await server.asOperator('POST', '/tokens', { expires_in: 3600 });
    const { status, text } = await create(body, token);
    if (status === 201) expect(JSON.parse(text).expires_at).toBe(expires_at);
    else expect([status, text]).toEqual([403, expect.stringContaining('longer than your own')]);
  });

  test('attack 20: that is read-only creates none and revokes none', async () => {
    const reader = await server.createToken({ read_only: true });
    expect((await create({ read_only: true }, reader)).status).toBe(403);
    const revoked = await server.ask(reader, 'DELETE', `/tokens/${own.token_id}`);
    expect(revoked.status).toBe(403);
  });
});

function valueAt(body: Json, place: string): Json {
  const steps = place === '' ? [] : place.split('.');
  return steps.reduce((value, step) => value?.[step], body);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
