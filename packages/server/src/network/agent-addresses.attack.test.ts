import { describe, expect, onTestFinished, test } from 'vitest';
import { endsByItself } from '../../../core/src/testing/ends-by-itself.ts';
import { createServer, type ServerOptions } from '../create-server.ts';
import { createToken } from '../http/access/token-store.ts';
import { memoryRows } from '../rows/memory-rows.ts';
import { resultLine, startRemoteAgent } from '../testing/servers/remote-agent.ts';
import { createTaskHarness, eventually, textDelta } from '../testing/servers/task-harness.ts';
import { AgentNetwork, type Resolver } from './agent-network.ts';
import { agentAddress } from './agent-request.ts';

// A remote agent registers an address to which the server can connect but the agent cannot. It is the
// metadata service of a cloud, which serves credentials, or a service that only this machine can reach.

const metadata = [
  ...['169.254.169.254', '169.254.170.2', '169.254.0.23', '169.254.42.42'],
  // Metadata services of Alibaba Cloud, Azure and Oracle Cloud.
  ...['100.100.100.200', '168.63.129.16', '192.0.0.192'],
  // IPv6 metadata services of AWS, Google Cloud, Oracle Cloud, Scaleway and OpenStack.
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42'],
  ...['fe80::a9fe:a9fe', 'fd12:3456::a9fe:a9fe'],
  // 169.254.169.254 inside an IPv6 address: mapped, NAT64, local NAT64, 6to4, compatible, translated, Teredo
  // and ISATAP.
  ...['::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '0:0:0:0:0:ffff:a9fe:a9fe'],
  ...['64:ff9b::169.254.169.254', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a9fe:a9fe'],
  ...['2002:a9fe:a9fe::1', '2002:a9fe:a9fe::', '::169.254.169.254', '::ffff:0:a9fe:a9fe'],
  ...['2001:0:a9fe:a9fe::', '2001:db8::5efe:169.254.169.254', '2001:db8::200:5efe:a9fe:a9fe'],
  // IPv6 addresses that contain the IPv4 address of a metadata service.
  ...['64:ff9b::100.100.100.200', '::ffff:168.63.129.16', '64:ff9b::192.0.0.192'],
  // Addresses at which no agent can run.
  ...['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0', '224.0.0.1', '255.255.255.255', 'ff02::1'],
];

const spellings = [
  ...metadata.map((address) => (address.includes(':') ? `[${address}]` : address)),
  // Unusual spellings of IPv4 addresses that URLs accept.
  ...['2852039166', '0xa9fea9fe', '0xa9.0xfe.0xa9.0xfe', '0251.0376.0251.0376', '169.254.43518'],
  ...['169.16689662', '025177524776', '0xA9FEA9FE.', '169.254.169.254.', '１６９.254.169.254', '0'],
  // Host names of metadata services.
  ...['metadata.google.internal', 'METADATA.google.internal.', 'metadata', 'metadata.goog'],
  ...['instance-data', 'instance-data.ec2.internal', 'metadata.tencentyun.com'],
];

async function startServer(options: Partial<ServerOptions> = {}) {
  const token = createToken();
  const server = createServer({ tokens: [token], ...options });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  return async (host: string) => {
    const body = { name: 'far', description: '', acp_url: `http://${host}/`, acp_type: 'sync' };
    const response = await fetch(new URL('/agents/register', url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return response.status;
  };
}

describe('registering an agent', () => {
  test.each(spellings)('attack 15: at %s is refused', async (host) => {
    const register = await startServer();
    expect(await register(host)).toBe(422);
    expect(await register(`${host}:8080`)).toBe(422);
  });

  test.each(metadata)('attack 15: at %s is refused whatever is allowed', async (address) => {
    const register = await startServer({
      agentNetworks: ['loopback', 'private', 'public', '0.0.0.0/0', '::/0', '169.254.0.0/16'],
    });
    expect(await register(address.includes(':') ? `[${address}]` : address)).toBe(422);
  });

  test.each(metadata)('attack 15: at a name that resolves to %s is refused', async (address) => {
    const harness = await createTaskHarness([], { network: network(['public'], () => [address]) });
    const body = { name: 'far', description: '', acp_type: 'sync' } as const;
    const refused = harness.service.agents.register({ ...body, acp_url: 'http://far.test/' });
    await expect(refused).rejects.toMatchObject({ code: 'invalid' });
  });

  test.each(['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '[fd12::1]', '[fc00::1]'])(
    'attack 15: in the private network of %s is refused by default',
    async (host) => {
      const register = await startServer();
      expect(await register(host)).toBe(422);
      const allowed = await startServer({ agentNetworks: ['private'] });
      expect(await allowed(host)).toBe(200);
    },
  );

  test.each(['127.0.0.1', '127.1', '[::1]', '2130706433', 'localhost', '[::ffff:127.0.0.1]'])(
    'attack 15: at %s is refused if loopback is not allowed',
    async (host) => {
      const register = await startServer({ agentNetworks: ['public'] });
      expect(await register(host)).toBe(422);
      const allowed = await startServer();
      expect(await allowed(host)).toBe(200);
    },
  );
});

describe('calling an agent', () => {
  /** Creates a service that only the server can reach on this machine, and a task of an agent. */
  async function victimOf(resolve: () => readonly string[], allowed = ['public']) {
    const health: string[] = [];
    const victim = await startRemoteAgent(
      (_call, response) => void response.end(resultLine(textDelta(0, 'secret'))),
      (response) => {
        health.push('checked');
        response.end('{}');
      },
    );
    const { port } = new URL(victim.url);
    const harness = await createTaskHarness([], {
      network: network(allowed, resolve),
      health: { everyMs: 5, timeoutMs: 1000 },
    });
    return { harness, victim, health, acp_url: `http://far.test:${port}/` };
  }

  const described = { name: 'far', description: '', acp_type: 'sync' } as const;

  test.each([
    ['127.0.0.1', ['127.0.0.1']],
    ['::1 and a public address', ['203.0.113.7', '::1']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['a private address', ['10.0.0.1']],
    ['a metadata address', ['169.254.169.254']],
  ])(
    'attack 15: whose name resolves to %s after it was registered is refused',
    async (_what, later) => {
      let addresses: readonly string[] = ['203.0.113.7'];
      const { harness, victim, health, acp_url } = await victimOf(() => addresses);
      const { id } = await harness.service.agents.register({ ...described, acp_url });
      addresses = later;
      const task = await harness.newTask('far');
      const answer = await harness.send('far', task.id, 'Hello');
      await expect(answer.messages()).rejects.toMatchObject({
        ...{ code: 'agent_failed', details: { reason: 'address_refused' } },
      });
      // The server also refuses the health check, and reports the reason.
      await eventually(async () => {
        const { status, status_reason } = await harness.service.agents.get({ id });
        return status === 'Unhealthy' && String(status_reason).includes('Cannot call the agent');
      });
      expect([victim.calls, health]).toEqual([[], []]);
    },
  );

  test.each(['http://169.254.169.254/', 'http://127.0.0.1:1/', 'http://[64:ff9b::a9fe:a9fe]/'])(
    'attack 15: that an earlier version registered at %s is refused',
    async (acp_url) => {
      const rows = memoryRows();
      const before = await createTaskHarness([], { rows });
      const { id } = await before.service.agents.register({
        ...{ ...described, acp_url: 'http://127.0.0.1:1/' },
      });
      const row = (await rows.get('agents', id)) ?? expect.fail();
      await rows.put('agents', { ...row, data: { ...row.data, acp_url } });
      const harness = await createTaskHarness([], { rows, network: network(['public']) });
      const task = await harness.newTask('far');
      const answer = await harness.send('far', task.id, 'Hello');
      await expect(answer.messages()).rejects.toThrow('Cannot call the agent');
    },
  );

  test.each([301, 302, 303, 307, 308])(
    'attack 15: that redirects with %i to another address is refused',
    async (status) => {
      const elsewhere = await startRemoteAgent((_call, response) => void response.end());
      const remote = await startRemoteAgent((_call, response) => {
        response.writeHead(status, { location: `${elsewhere.url}/api` });
        response.end();
      });
      const harness = await createTaskHarness([]);
      await harness.service.agents.register({ ...described, acp_url: remote.url });
      const task = await harness.newTask('far');
      const answer = await harness.send('far', task.id, 'Hello');
      await expect(answer.messages()).rejects.toThrow(`HTTP status ${status}`);
      expect(elsewhere.calls).toEqual([]);
    },
  );
});

describe('an agent that registers a very long URL', () => {
  // The server removes the slashes at the end of the URL for each call and each health check. The URL is
  // stored, so the server would also hang after a restart.
  const slashes = (count: number) => `http://127.0.0.1:1/${'/'.repeat(count)}x`;

  test('18.102: is refused', async () => {
    const harness = await startServer();
    expect(await harness(`127.0.0.1:1/${'/'.repeat(3000)}x`)).toBe(422);
  });

  test('18.102: that an earlier version registered does not keep the server busy', () => {
    const url = slashes(1_000_000);
    const address = endsByItself(() => agentAddress(url, '/api'));
    expect(address).toBe(`${url}/api`);
    expect(agentAddress('http://a//', '/healthz')).toBe('http://a/healthz');
  });
});

function network(allowed: readonly string[], addresses: () => readonly string[] = () => []) {
  const resolve: Resolver = (_name, done) =>
    done(
      null,
      addresses().map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  return new AgentNetwork(allowed, { resolve });
}
