import { jsonReply, startScriptedServer, streamReply } from '@millrace/providers/scripted-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ModelError } from '../contract/errors.ts';
import { chooseModel, subAgentModels } from './choose-model.ts';
import { knownModels } from './known-models.ts';
import { findListenerOwner, type ListenerSources } from './listener-owner.ts';
import { type LocalName, localServers, queryServer } from './local-servers.ts';

// A different user of the machine, or a program of a hostile repository, listens on the default port
// of a model server. It wants keys, prompts, and control over the tools.

const keys = {
  ...{ LITELLM_API_KEY: 'hush-litellm', VLLM_API_KEY: 'hush-vllm', LLAMA_API_KEY: 'hush-llama' },
};
const closedPort = 1;
const closed = Object.fromEntries(localServers.map(({ name }) => [name, closedPort]));
const own = process.getuid?.() ?? 0;
const other = own + 1234;

/** Returns a table of sockets as the kernel prints it, with listeners of these users. */
const table = (...listeners: readonly (readonly [address: string, port: number, uid: number])[]) =>
  [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    ...listeners.map(([address, port, uid], at) => {
      const local = `${address}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
      return `   ${at}: ${local} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  ${uid}        0 1234 1`;
    }),
  ].join('\n');

const sources = (files: Readonly<Record<string, string>>): ListenerSources => ({
  ...{ platform: 'linux', uid: own },
  read: async (path) => files[path] ?? '',
});

async function program(name: LocalName) {
  const server = await startScriptedServer(({ path }) =>
    path === '/v1/chat/completions'
      ? streamReply(['data: [DONE]\n\n'])
      : jsonReply(200, { data: [{ id: 'qwen3' }] }),
  );
  onTestFinished(() => server.close());
  const port = Number(new URL(server.url).port);
  const listenedBy = (uid: number) => sources({ '/proc/net/tcp': table(['0100007F', port, uid]) });
  const sent = () => JSON.stringify(server.requests.map(({ headers }) => headers));
  return { ...{ server, port, listenedBy, sent }, ports: { ...closed, [name]: port } };
}

async function failure(chosen: Promise<unknown>): Promise<ModelError> {
  const error = await chosen.catch((thrown: unknown) => thrown);
  if (error instanceof ModelError) return error;
  throw new Error('It is no ModelError');
}

describe.for(['litellm', 'vllm', 'llama.cpp'] as const)('a program at the port of %s', (name) => {
  test('attack 47: gets no key', async () => {
    const { ports, listenedBy, sent, server } = await program(name);
    const env = { ...keys };
    for (const listeners of [listenedBy(own), listenedBy(other), sources({})]) {
      await knownModels(env, { models: {} }, { ports, listeners });
      for (const model of [undefined, name, `${name}/qwen3`, 'qwen3']) {
        const config = { model, models: {} };
        const chosen = await chooseModel({ config, env, ports, listeners }).catch(() => undefined);
        if (chosen?.isDemo === false) await chosen.provider.complete({ items: [] });
      }
    }
    expect(server.requests.length).toBeGreaterThan(0);
    expect(sent()).not.toContain('hush');
  });

  test('gets the key if the user configured the address', async () => {
    const { port, sent } = await program(name);
    const variable = localServers.find((one) => one.name === name)?.addressVariable ?? '';
    const env = { ...keys, [variable]: `http://127.0.0.1:${port}/v1/` };
    const config = { model: name, models: {} };
    const { provider, label } = await chooseModel({ config, env, ports: closed });
    await provider.complete({ items: [] });
    expect(label).toBe(`${name}/qwen3`);
    expect(sent()).toContain(`Bearer hush-${name === 'llama.cpp' ? 'llama' : name}`);
  });
});

test('attack 47: a configured model without an address gets no key from the environment', async () => {
  const sent: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    sent.push(new Headers(init?.headers).get('authorization'));
    return new Response('{}', { status: 400 });
  };
  process.env['VLLM_API_KEY'] = keys.VLLM_API_KEY;
  onTestFinished(() => void delete process.env['VLLM_API_KEY']);
  const mine = { provider: 'vllm', model: 'm' } as const;
  for (const model of [mine, { ...mine, baseUrl: 'http://127.0.0.1:8000/v1' }]) {
    const config = { model: 'mine', models: { mine: model } };
    const { provider } = await chooseModel({ config, env: keys, fetch });
    await provider.complete({ items: [] });
  }
  expect(sent).toEqual([null, 'Bearer hush-vllm']);
});

describe('a model server', () => {
  test('of this user is chosen without a request, and the choice is marked as a guess', async () => {
    const { ports, listenedBy } = await program('ollama');
    const config = { model: undefined, models: {} };
    const chosen = await chooseModel({ config, env: {}, ports, listeners: listenedBy(own) });
    expect(chosen).toMatchObject({ label: 'ollama/qwen3', isGuess: true });
  });

  test('attack 47: of a different user is not used, and the message says how to use it', async () => {
    const { ports, listenedBy, port } = await program('vllm');
    const at = { env: {}, ports, listeners: listenedBy(other) };
    const chosen = await chooseModel({ config: { model: undefined, models: {} }, ...at });
    expect(chosen.isDemo).toBe(true);
    const set = `VLLM_BASE_URL=http://127.0.0.1:${port}/v1`;
    expect(chosen.why).toContain(set);
    for (const model of ['vllm', 'vllm/qwen3']) {
      const error = await failure(chooseModel({ config: { model, models: {} }, ...at }));
      expect([error.code, error.message]).toEqual(['foreign_server', expect.stringContaining(set)]);
    }
    const bare = await failure(chooseModel({ config: { model: 'qwen3', models: {} }, ...at }));
    expect(bare.code).toBe('unknown_model');
    expect(await knownModels({}, { models: {} }, at)).toEqual([{ name: 'demo', from: 'built in' }]);
  });

  test('attack 47: with an unknown owner is used only if the user names it', async () => {
    const { ports } = await program('ollama');
    for (const listeners of [sources({}), { platform: 'darwin' } as const]) {
      const at = { env: {}, ports, listeners };
      const chosen = await chooseModel({ config: { model: undefined, models: {} }, ...at });
      expect(chosen.isDemo).toBe(true);
      expect(chosen.why).toContain('--model ollama');
      const named = await chooseModel({ config: { model: 'ollama', models: {} }, ...at });
      expect(named.label).toBe('ollama/qwen3');
    }
  });

  test('18.710: attack: with an unknown owner is not used because the project names it', async () => {
    const { ports, port } = await program('ollama');
    const at = { ports, listeners: { platform: 'darwin' } as const };
    const config = { model: 'ollama/qwen3', projectModel: 'ollama/qwen3', models: {} };
    const error = await failure(chooseModel({ config, env: {}, ...at }));
    expect([error.code, error.message]).toEqual([
      'foreign_server',
      expect.stringContaining('--model ollama'),
    ]);
    const env = { OLLAMA_HOST: `http://127.0.0.1:${port}` };
    expect((await chooseModel({ config, env, ...at })).label).toBe('ollama/qwen3');
    const other = { ...config, model: 'ollama' };
    expect((await chooseModel({ config: other, env: {}, ...at })).label).toBe('ollama/qwen3');
  });

  test('whose address is not a URL is an error', async () => {
    const [, , llama] = localServers;
    if (llama === undefined) throw new Error('There are fewer servers');
    const env = { LLAMA_BASE_URL: 'my server' };
    expect((await failure(queryServer(llama, { env }))).code).toBe('no_address');
  });
});

describe('the owner of a listener', () => {
  const zero = '0'.repeat(32);
  const mapped = '0000000000000000FFFF00000100007F';
  const passwd = 'root:x:0:0::/root:/bin/sh\nollama:x:998:998::/usr/share/ollama:/bin/false\n';
  test.for([
    ['this user', [['0100007F', 80, own]], [], 'trusted'],
    ['root', [['00000000', 80, 0]], [], 'trusted'],
    ['the account of the service', [['0100007F', 80, 998]], [], 'trusted'],
    ['a different system account', [['0100007F', 80, 997]], [], 'foreign'],
    ['a different user', [['0100007F', 80, other]], [], 'foreign'],
    ['a different user at all addresses', [], [[zero, 80, other]], 'foreign'],
    ['a different user at a mapped address', [], [[mapped, 80, other]], 'foreign'],
    ['two users', [['00000000', 80, own]], [[zero, 80, other]], 'foreign'],
    ['somebody at a different port', [['0100007F', 81, own]], [], 'unknown'],
    ['somebody at a different address', [['0A00000A', 80, own]], [], 'unknown'],
  ] as const)('attack 47: %s', async ([, tcp, tcp6, expected]) => {
    const files = { '/proc/net/tcp': table(...tcp), '/proc/net/tcp6': table(...tcp6) };
    const read = sources({ ...files, '/etc/passwd': passwd });
    expect(await findListenerOwner(80, 'ollama', read)).toBe(expected);
  });

  test('an ordinary user with the name of the service is a different user', async () => {
    const files = { '/proc/net/tcp': table(['0100007F', 80, other + 5000]) };
    const all = { ...files, '/etc/passwd': `ollama:x:${other + 5000}:1::/:/bin/sh` };
    expect(await findListenerOwner(80, 'ollama', sources(all))).toBe('foreign');
  });
});

test('18.1715: attack: a sub-agent of a project names a local server whose owner is unknown', async () => {
  const { ports } = await program('vllm');
  const config = { models: {}, projectModel: 'vllm/other' };
  const open = subAgentModels({ config, env: {}, ports, listeners: sources({}) });
  expect((await failure(open('vllm/qwen3', 'project'))).code).toBe('foreign_server');
  expect((await open('vllm/qwen3', 'user')).label).toBe('vllm/qwen3');
});
