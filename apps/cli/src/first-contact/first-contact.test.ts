import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import type { Env } from '../contract/host.ts';
import { withStoredKeys } from '../models/key-store.ts';
import { browse, loginKey, pageIn, startOpenRouter } from '../testing/login/openrouter-server.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { firstContact } from './first-contact.ts';

const folder = temporaryFolder('first');
let count = 0;
let home: string;
beforeEach(() => {
  home = join(folder(), String(++count));
  mkdirSync(home);
});

const key = 'test-key-of-ten';

/** Starts a server that accepts one key and lists one model. */
async function startServer(status = 200, id = 'tiny') {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers['x-api-key']);
    const isAllowed = status === 200 && (request.headers['x-api-key'] ?? key) === key;
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' });
    response.end(isAllowed ? JSON.stringify({ data: [{ id }] }) : '{"error":{}}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, keys };
}

/** No program listens on these ports. */
const noServers = { ollama: 1, 'lm-studio': 1, 'llama.cpp': 1, vllm: 1, litellm: 1 } as const;

interface Talk {
  readonly lines: readonly string[];
  readonly env?: Env;
  readonly ports?: Readonly<Record<string, number>>;
  readonly model?: string;
  readonly openRouter?: Awaited<ReturnType<typeof startOpenRouter>>;
  /** Opens the login page in a browser when it is shown. Default: false. */
  readonly isBrowsing?: boolean;
}

/** Types lines, each when the terminal shows the next question. */
async function talk(given: Talk) {
  const { lines, env = {}, ports = noServers, model, openRouter, isBrowsing = false } = given;
  const stdin = new PassThrough();
  const stdout = Object.assign(new CapturedOutput({ isTTY: true }), { rows: 40, columns: 100 });
  const { signal } = new AbortController();
  const clock = new VirtualClock();
  const host = { stdin, stdout, signal, clock };
  const ownEnv = { HOME: home, ...env };
  const { fetch, url: openRouterUrl } = openRouter ?? {};
  // On macOS, the system does not tell who owns a server.
  const listeners = { platform: 'darwin' } as const;
  const choosing = firstContact(
    { config: { model }, env: ownEnv, ports, listeners, cwd: home, fetch, openRouterUrl },
    host,
  );
  let isOver = false;
  void choosing.finally(() => {
    isOver = true;
  });
  let shown = 0;
  const isAsked = () => stdout.text.length > shown && /(?:: |•)$/.test(stdout.text);
  for (const line of lines) {
    await expect.poll(() => isOver || isAsked()).toBe(true);
    shown = stdout.text.length;
    // Input that follows a paste immediately belongs to the paste.
    clock.advance(1000);
    stdin.write(line);
  }
  if (isBrowsing) {
    await expect.poll(() => pageIn(stdout.text.slice(shown))).toBeDefined();
    await browse(pageIn(stdout.text.slice(shown)) ?? '');
  }
  return { choice: await choosing, shown: stdout.text };
}

describe('the first start without a model', () => {
  test('asks nothing if a model is configured or a key is set', async () => {
    const { shown, choice } = await talk({ lines: [], model: 'demo' });
    expect([shown, choice?.model]).toEqual(['', undefined]);
    const withKey = await talk({ lines: [], env: { OPENAI_API_KEY: 'x' } });
    expect(withKey.shown).toBe('');
  });

  test('starts the demo with Enter, and quits with Esc', async () => {
    expect((await talk({ lines: ['\r'] })).choice).toMatchObject({ model: 'demo' });
    expect((await talk({ lines: ['\u0003'] })).choice).toBeUndefined();
  });

  test('tests a key, stores it for this user alone, and never shows it', async () => {
    const { url, keys } = await startServer();
    const env = { ANTHROPIC_BASE_URL: url };
    const { choice, shown } = await talk({
      ...{ env, lines: ['2\r', 'wrong\r', '2\r', `\u001b[200~${key}\n\u001b[201~`, '\r'] },
    });
    expect(keys).toEqual(['wrong', key]);
    expect(choice).toMatchObject({
      ...{ model: 'anthropic/claude-sonnet-5-5', env: { ANTHROPIC_API_KEY: key } },
    });
    expect(shown).toContain('rejects the key (status 401)');
    expect(shown).toContain('•••');
    expect(shown).not.toContain(key);
    const path = join(home, '.config/millrace/keys.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ ANTHROPIC_API_KEY: key });
    expect(withStoredKeys({ HOME: home })).toMatchObject({ ANTHROPIC_API_KEY: key });
  });

  test('logs in to OpenRouter with the browser, and goes on with its key', async () => {
    const openRouter = await startOpenRouter();
    const { choice, shown } = await talk({ openRouter, isBrowsing: true, lines: ['1\r'] });
    expect(shown).toContain('1  OpenRouter: log in with the browser');
    expect(choice).toMatchObject({
      ...{ model: 'openrouter/openrouter/auto', env: { OPENROUTER_API_KEY: loginKey } },
    });
    expect(shown).not.toContain(loginKey);
    expect(withStoredKeys({ HOME: home })).toMatchObject({ OPENROUTER_API_KEY: loginKey });
  });

  test('returns to the list with Enter or after a refused login, and quits with Esc', async () => {
    const openRouter = await startOpenRouter({ exchange: () => ({ status: 403, body: '{}' }) });
    const talked = await talk({ openRouter, lines: ['1\r', '\r', '1\r', 'a-code\r', '\r'] });
    expect(talked.shown).toContain('OpenRouter refused the code (status 403).');
    expect(talked.choice?.model).toBe('demo');
    expect((await talk({ openRouter, lines: ['1\r', '\u0003'] })).choice).toBeUndefined();
    expect(existsSync(join(home, '.config/millrace/keys.json'))).toBe(false);
  });

  test('offers a local server whose owner is unknown, and remembers the choice', async () => {
    const { port } = await startServer();
    const { choice, shown } = await talk({ ports: { ...noServers, ollama: port }, lines: ['1\r'] });
    expect(shown).toContain(`Ollama at 127.0.0.1:${port}: tiny`);
    expect(choice?.model).toBe('ollama/tiny');
    const path = join(home, '.config/millrace/config.json');
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ model: 'ollama/tiny' });
  });

  test('18.1719: attack: a local server of another user lists a model with line breaks', async () => {
    const id = `tiny\n   9  Free: the best model\r\u001b[2J${'x'.repeat(1000)}`;
    const { port } = await startServer(200, id);
    const { shown } = await talk({ ports: { ...noServers, ollama: port }, lines: ['1\r'] });
    expect(shown).toMatch(/: tiny 9 Free: the best model/);
    expect(shown).not.toMatch(/^\s*9 +Free|x{300}/m);
    mkdirSync(join(home, '.config/millrace'), { recursive: true });
    const again = await talk({ ports: { ...noServers, ollama: port }, lines: ['1\r'] });
    expect(again.shown).not.toMatch(/^\s*9 +Free/m);
  });

  test('does not change a configuration that exists', async () => {
    const { port } = await startServer();
    const path = join(home, '.config/millrace/config.json');
    mkdirSync(join(home, '.config/millrace'), { recursive: true });
    writeFileSync(path, '{"theme":"dark"}');
    const { shown } = await talk({ ports: { ...noServers, ollama: port }, lines: ['1\r'] });
    expect(shown).toContain('write "model": "ollama/tiny" into');
    expect(readFileSync(path, 'utf8')).toBe('{"theme":"dark"}');
  });
});

describe('stored keys', () => {
  const write = (content: string, mode = 0o600) => {
    mkdirSync(join(home, '.config/millrace'), { recursive: true });
    writeFileSync(join(home, '.config/millrace/keys.json'), content, { mode });
  };

  test('do not replace a key of the environment', () => {
    write('{"OPENAI_API_KEY":"stored"}');
    const env = { HOME: home, OPENAI_API_KEY: 'own' };
    expect(withStoredKeys(env)).toBe(env);
    expect(existsSync(join(home, '.config/millrace/keys.json'))).toBe(true);
  });

  test('attack: a file sets a variable that is no key', () => {
    write('{"NODE_OPTIONS":"--import /tmp/x.js","PATH":"/tmp","OPENAI_API_KEY":"k"}');
    const env = withStoredKeys({ HOME: home });
    expect(env).toEqual({
      HOME: home,
      OPENAI_API_KEY: 'k',
      MILLRACE_STORED_KEYS: 'OPENAI_API_KEY',
    });
  });

  test('attack: other users can read or replace the keys', () => {
    write('{"OPENAI_API_KEY":"k"}', 0o644);
    expect(() => withStoredKeys({ HOME: home })).toThrow('Run chmod 600');
  });
});
