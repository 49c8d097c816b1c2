import { expect, test } from 'vitest';
import { tokenId } from '../http/access/token-store.ts';
import { AgentNetwork } from '../network/agent-network.ts';
import { resultLine, startRemoteAgent } from '../testing/servers/remote-agent.ts';
import { createTaskHarness, eventually, textDelta } from '../testing/servers/task-harness.ts';

// A hostile remote agent answers the DNS requests for its own name.

const described = { name: 'far', description: '', acp_type: 'sync' } as const;

/** Starts a server whose DNS server belongs to the agent. */
async function serve(allowed: readonly string[] = ['loopback', 'private', 'public']) {
  let addresses: readonly string[] = ['93.184.216.34'];
  let held: Promise<void> | undefined;
  const network = new AgentNetwork(allowed, {
    resolve: (_name, done) => {
      const answer = () =>
        done(
          null,
          addresses.map((address) => ({ address, family: 4 })),
        );
      if (held === undefined) answer();
      else void held.then(answer);
    },
  });
  const { service, rows, newTask, send } = await createTaskHarness([], {
    network,
    health: { everyMs: 5, timeoutMs: 1000 },
  });
  return {
    ...{ service, rows, newTask, send },
    answerWith: (...given: readonly string[]) => {
      addresses = given;
    },
    /** Lets all names wait for their answer until the result is called. */
    holdNames: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
    register: (acp_url: string, options: Parameters<typeof service.agents.register>[1] = {}) =>
      service.agents.register({ ...described, acp_url }, options),
    statusOf: async (id: string) => (await service.agents.get({ id })).status_reason ?? '',
  };
}

test.each([
  ['deletes the agent', 'delete'],
  ['revokes the key of the agent', 'revoke'],
  ['revokes the key, and registers the agent again', 'replace'],
] as const)(
  '18.808: attack: an agent registers itself with a slow name while an operator %s',
  async (_what, how) => {
    const { service, rows, register, holdNames } = await serve();
    const { id, agent_api_key: key } = await register('http://far.test/');
    const keyId = tokenId(key);
    const release = holdNames();
    const again = register('http://far.test/', { keyId }).catch((error: unknown) => error);
    if (how === 'delete') await service.agents.delete(id);
    else {
      const row = (await rows.get('agents', id)) ?? expect.fail();
      await rows.put('agents', { ...row, data: { ...row.data, is_key_revoked: true } });
      await rows.delete('tokens', keyId);
    }
    const next = how === 'replace' ? await register('http://93.184.216.34/') : undefined;
    release();
    expect(await again).toMatchObject({ code: 'unauthorized' });
    // No key is valid except the one that the operator requested.
    const tokens = (await rows.list('tokens', { limit: 10 })).map((row) => row.id);
    expect(tokens).toEqual(next === undefined ? [] : [tokenId(next.agent_api_key)]);
    if (how === 'delete')
      await expect(service.agents.get({ id })).rejects.toMatchObject({ code: 'not_found' });
  },
);

test('18.808: attack: a token registers a deleted agent with a slow name while it is revoked', async () => {
  const { service, rows, register, holdNames } = await serve();
  const { id } = await register('http://far.test/');
  await service.agents.delete(id);
  await rows.put('tokens', { id: 'issuer', keys: {}, data: { scope: { kind: 'all' } } });
  const release = holdNames();
  const again = register('http://far.test/', { issuerId: 'issuer' }).catch((error) => error);
  await rows.delete('tokens', 'issuer');
  release();
  expect(await again).toMatchObject({ code: 'unauthorized' });
  await expect(service.agents.get({ id })).rejects.toMatchObject({ code: 'not_found' });
});

test.each([
  ['http://93.184.216.34/', ['127.0.0.1'], 'http://127.0.0.1:9/'],
  ['http://far.test/', ['127.0.0.1'], 'http://127.0.0.1:9/'],
  ['http://far.test/', ['10.0.0.1'], 'http://10.0.0.1/'],
  ['http://far.test/', ['10.0.0.1'], 'http://other.test/'],
])(
  '18.809: attack: an agent at %s resolves its name to %s, and moves itself to %s',
  async (before, later, after) => {
    const { register, answerWith } = await serve();
    const { agent_api_key: key } = await register(before);
    answerWith(...later);
    const moved = register(after, { keyId: tokenId(key) });
    await expect(moved).rejects.toMatchObject({ code: 'forbidden' });
    // An agent can change its port and its path.
    answerWith('93.184.216.34');
    const other = new URL('/other', before);
    other.port = '81';
    await register(other.href, { keyId: tokenId(key) });
  },
);

test.each([
  ['this machine', '127.0.0.1', []],
  ['a private network', '10.0.0.1', []],
  ['this machine, of an earlier version', '127.0.0.1', ['acp_locality']],
])(
  '18.809: attack: the name of an agent leads from the internet to %s',
  async (_what, address, missing) => {
    const victim = await startRemoteAgent(
      (_call, response) => void response.end(resultLine(textDelta(0, 'secret'))),
    );
    const { rows, register, answerWith, newTask, send, statusOf } = await serve();
    const { port } = new URL(victim.url);
    const { id, agent_api_key: key } = await register('http://far.test/');
    await register(`http://far.test:${port}/`, { keyId: tokenId(key) });
    const row = (await rows.get('agents', id)) ?? expect.fail();
    const kept = Object.entries(row.data).filter(([name]) => !missing.some((one) => one === name));
    await rows.put('agents', { ...row, data: Object.fromEntries(kept) });
    answerWith(address);
    const task = await newTask('far');
    const answer = await send('far', task.id, 'Hello');
    await expect(answer.messages()).rejects.toThrow('Cannot call the agent: its host name leads');
    await eventually(async () => (await statusOf(id)).includes('its host name leads'));
    expect(victim.calls).toEqual([]);
    // The operator decides where agents are. Only localhost and addresses can mean this machine.
    if (address !== '127.0.0.1') await register(`http://far.test:${port}/`);
    else
      await expect(register(`http://far.test:${port}/`)).rejects.toThrow('Register the agent at');
    await register(victim.url);
    await send('far', task.id, 'Hello').then((sent) => sent.messages());
    expect(victim.calls).toHaveLength(1);
  },
);

test('18.809: an agent in a private network keeps its place when it registers itself', async () => {
  const { register, answerWith, statusOf } = await serve();
  answerWith('10.255.255.1');
  const { id, agent_api_key: key } = await register('http://far.test/');
  // The name cannot be resolved while the agent starts.
  answerWith();
  await register('http://far.test/', { keyId: tokenId(key) });
  answerWith('127.0.0.1');
  await eventually(async () => (await statusOf(id)).includes('leads to this machine.'));
  await expect(register('http://10.0.0.1/', { keyId: tokenId(key) })).resolves.toBeDefined();
});
