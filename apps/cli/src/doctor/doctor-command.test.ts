import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../../packages/core/src/testing/runs.ts';
import { startOllama } from '../../../../packages/providers/src/testing/ollama-server.ts';
import { exitCodes } from '../exit-code.ts';
import { withStoredKeys } from '../models/key-store.ts';
import type { LocalName } from '../models/local-servers.ts';
import { openStore } from '../store/open-store.ts';
import { loginKey, startOpenRouter } from '../testing/login/openrouter-server.ts';
import { CapturedOutput, FailingOutput } from '../testing/output-streams.ts';
import { finishedSession } from '../testing/sessions.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import type { Check, Finding } from './check.ts';
import { type DoctorCommandOptions, doctorCommand } from './doctor-command.ts';

const folder = temporaryFolder('doctor');
const mcpServer = fileURLToPath(
  new URL('../../../../packages/tools/src/testing/mcp-bare-server-in-process.ts', import.meta.url),
);
const key = 'sk-very-secret-0123456789';
const localNames: readonly LocalName[] = ['ollama', 'lm-studio', 'llama.cpp', 'vllm', 'litellm'];

/** One server plays the role of all servers on this machine, at different paths. */
let server: Server;
let port: number;
let closedPort: number;
let answer: { readonly status: number; readonly body: string };
let asked: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders }[];
let home: string;
let count = 0;

const listening = async (one: Server): Promise<number> => {
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  return (one.address() as AddressInfo).port;
};

beforeEach(async () => {
  home = join(folder(), `home${++count}`);
  asked = [];
  answer = { status: 200, body: '{"data":[]}' };
  server = createServer(({ url, headers }, response) => {
    asked.push({ url, headers });
    response.writeHead(answer.status).end(answer.body);
  });
  port = await listening(server);
  const gone = createServer();
  closedPort = await listening(gone);
  await new Promise((resolve) => gone.close(resolve));
});
afterEach(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

const here = () => `http://127.0.0.1:${port}`;

async function examine(
  env: Readonly<Record<string, string>> = {},
  options: Partial<DoctorCommandOptions> & { readonly stdout?: CapturedOutput } = {},
) {
  const { stdout = new CapturedOutput() } = options;
  const stderr = new CapturedOutput();
  const ports = Object.fromEntries(localNames.map((name) => [name, closedPort]));
  const code = await doctorCommand({
    args: { command: 'doctor', json: true, color: true },
    ...{ stdin: Readable.from([]), stderr, cwd: folder(), nodeVersion: '24.1.0' },
    ...{ env: { HOME: home, LANG: 'C.UTF-8', ...env }, ports, platform: 'linux' as const },
    ...{ ...options, stdout },
  });
  const isJson = options.args?.json ?? true;
  const findings = (isJson ? JSON.parse(stdout.text) : []) as readonly Finding[];
  const on = (about: string) => findings.filter((finding) => finding.about === about);
  return { code, findings, on, stdout: stdout.text, stderr: stderr.text };
}

describe('a machine without anything', () => {
  test('is fit for the demo: warnings say what to do, and the exit code is 0', async () => {
    const { code, on, findings } = await examine();
    expect(code).toBe(exitCodes.done);
    expect(on('node')).toEqual([{ about: 'node', state: 'ok', text: 'Node 24.1.0' }]);
    expect(on('config')).toMatchObject([{ state: 'ok' }]);
    expect(on('keys')).toMatchObject([{ state: 'warn', advice: /ANTHROPIC_API_KEY/ }].map(any));
    expect(on('model')).toMatchObject([{ state: 'warn', advice: /Ollama/ }].map(any));
    expect(on('store')).toMatchObject([{ state: 'ok', text: /No sessions yet.*home/ }].map(any));
    expect(on('terminal')).toMatchObject([{ state: 'warn', text: /millrace -p/ }].map(any));
    expect(findings.some(({ state }) => state === 'fail')).toBe(false);
  });

  test('needs no key if a model without a key is configured', async () => {
    const config = join(folder(), 'keyless.json');
    const args = { command: 'doctor', json: true, color: true, config } as const;
    const keysOf = async (model: object) => {
      writeFileSync(config, JSON.stringify({ model: 'ours', models: { ours: model } }));
      return (await examine({}, { args })).on('keys');
    };
    const own = { provider: 'compatible', model: 'm', baseUrl: `${here()}/v1` };
    expect(await keysOf(own)).toMatchObject(
      [{ state: 'ok', text: /The model ours is used/ }].map(any),
    );
    expect(await keysOf({ provider: 'openai', model: 'm' })).toMatchObject([{ state: 'warn' }]);
  });

  test('names a key of a login, and how to log in again', async () => {
    const openRouter = await startOpenRouter();
    const folderOfKeys = join(home, '.config/millrace');
    mkdirSync(folderOfKeys, { recursive: true });
    const stored = async (openRouterKey: string) => {
      const content = { OPENROUTER_API_KEY: openRouterKey, logins: ['OPENROUTER_API_KEY'] };
      writeFileSync(join(folderOfKeys, 'keys.json'), JSON.stringify(content), { mode: 0o600 });
      const env = withStoredKeys({ HOME: home }) as Record<string, string>;
      return (await examine(env, { fetch: openRouter.fetch })).on('endpoints');
    };
    expect(await stored(loginKey)).toMatchObject([
      { state: 'ok', text: 'openrouter answers at openrouter.ai with the key of your login' },
    ]);
    expect(await stored('deleted-key')).toMatchObject([
      { state: 'fail', advice: expect.stringContaining('millrace login openrouter') },
    ]);
  });

  test('is printed in lines for people, with the next step below', async () => {
    const args = { command: 'doctor', json: false, color: true } as const;
    const { stdout } = await examine({}, { args });
    expect(stdout).toMatch(/^ok {4}No configuration file/);
    expect(stdout).toContain('\nok    Node 24.1.0\n');
    expect(stdout).toMatch(
      /\nwarn {2}No provider key is set\n {6}→ Log in with millrace login openrouter, or set one of /,
    );
    const painted = await examine({ FORCE_COLOR: '1' }, { args });
    expect(painted.stdout).toContain('\u001b[32mok  \u001b[39m  Node 24.1.0\n');
  });
});

/** Returns a matcher that compares texts with patterns. */
function any(expected: Readonly<Record<string, unknown>>): object {
  const entries = Object.entries(expected).map(([name, value]) => [
    name,
    value instanceof RegExp ? expect.stringMatching(value) : value,
  ]);
  return Object.fromEntries(entries);
}

test('names the sandbox and what it does not protect', async () => {
  const [finding] = (await examine()).on('sandbox');
  // If there is no sandbox, the finding has advice about how to get one.
  if (finding?.state === 'ok')
    expect(finding.text).toContain('It does not protect the files of this folder');
  else expect(finding?.advice).toBeDefined();
});

test('a Node that is too old fails', async () => {
  for (const nodeVersion of ['22.17.9', '20.19.0']) {
    const { code, on } = await examine({}, { nodeVersion });
    expect(on('node')).toMatchObject([{ state: 'fail', advice: 'Install Node 22.18 or later' }]);
    expect(code).toBe(exitCodes.error);
  }
  for (const nodeVersion of ['22.18.0', '25.0.0'])
    expect((await examine({}, { nodeVersion })).on('node')).toMatchObject([{ state: 'ok' }]);
});

describe('a key', () => {
  test('of Bedrock without a region is not enough', async () => {
    const env = { AWS_BEARER_TOKEN_BEDROCK: key };
    const region = [{ state: 'warn', advice: /AWS_REGION/ }].map(any);
    expect((await examine(env)).on('keys')).toMatchObject(region);
    const { on } = await examine({ ...env, AWS_REGION: 'eu-west-1' });
    expect(on('keys')).toMatchObject([{ state: 'ok' }]);
  });

  test('is never told, whatever becomes of it', async () => {
    const env = {
      ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: here() },
      ...{ OPENAI_API_KEY: ` ${key}\n`, OPENAI_BASE_URL: `${here()}/v1` },
    };
    for (const status of [200, 401, 500]) {
      answer = { status, body: `{"error":"bad key ${key}"}` };
      const { stdout, stderr } = await examine(env);
      expect(asked.some(({ headers }) => headers['x-api-key'] === key)).toBe(true);
      expect(stdout + stderr).not.toContain('very-secret');
    }
  });

  test('with a wrong form is reported by its name', async () => {
    const env = {
      ...{ MISTRAL_API_KEY: '', VLLM_API_KEY: `"${key}"`, LITELLM_API_KEY: `${key}\n` },
    };
    const { on } = await examine(env);
    expect(on('keys')).toEqual(
      [
        'MISTRAL_API_KEY is set, but empty',
        'VLLM_API_KEY has quotes around it',
        'LITELLM_API_KEY has spaces or a line break around it',
      ].map((text) => ({
        about: 'keys',
        state: 'warn',
        text,
        advice: 'Set it again, with nothing but the key',
      })),
    );
  });
});

describe('an endpoint', () => {
  const env = () => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: here() });

  test('that answers is fine, and is asked for something that costs nothing', async () => {
    const { on, code } = await examine(env());
    expect(on('endpoints')).toEqual([
      { about: 'endpoints', state: 'ok', text: `anthropic answers at 127.0.0.1:${port}` },
    ]);
    expect(asked.map(({ url }) => url)).toEqual(['/v1/models']);
    expect(on('model')).toMatchObject([{ state: 'ok', text: /ANTHROPIC_API_KEY/ }].map(any));
    expect(code).toBe(exitCodes.done);
  });

  test('23: that answers with status 400 rejects the key only if it says so', async () => {
    answer = { status: 400, body: '{"error":{"message":"Unknown field anthropic-version"}}' };
    const other = await examine(env());
    expect(other.on('endpoints')).toMatchObject([
      any({ state: 'warn', text: /answers with status 400/, advice: /does not accept/ }),
    ]);
    answer = { status: 400, body: '{"error":{"message":"API key not valid."}}' };
    const refused = await examine(env());
    expect(refused.on('endpoints')).toMatchObject([
      any({ state: 'fail', text: /rejects the key \(status 400\)/ }),
    ]);
  });

  test('that does not take the key fails, and says which variable it is', async () => {
    answer = { status: 401, body: '' };
    const { on, code } = await examine(env());
    const expected = { state: 'fail', text: /status 401/, advice: /ANTHROPIC_API_KEY/ };
    expect(on('endpoints')).toMatchObject([any(expected)]);
    expect(code).toBe(exitCodes.error);
  });

  test('that cannot be reached: says what to check', async () => {
    const gone = { ...env(), ANTHROPIC_BASE_URL: `http://127.0.0.1:${closedPort}` };
    const { on } = await examine(gone);
    const expected = { state: 'warn', text: /cannot be reached: ECONNREFUSED/, advice: /proxy/ };
    expect(on('endpoints')).toMatchObject([any(expected)]);
  });

  test('of a local server: lists its models', async () => {
    answer = { status: 200, body: '{"data":[{"id":"qwen3"}]}' };
    const ports = { ...Object.fromEntries(localNames.map((n) => [n, closedPort])), ollama: port };
    const { on } = await examine({}, { ports, timeoutMs: 60_000 });
    expect(on('endpoints')).toMatchObject(
      [{ state: 'ok', text: /Ollama answers.*1 model: qwen3 \(context unknown/ }].map(any),
    );
    expect(on('model')).toMatchObject([{ state: 'ok', text: /qwen3/ }].map(any));
  });

  test('19.16: of a local server: lists the window of each model', async () => {
    const ollama = await startOllama({ isLoaded: true });
    onTestFinished(() => ollama.close());
    const closed = Object.fromEntries(localNames.map((name) => [name, closedPort]));
    const { on } = await examine(
      {},
      {
        ports: { ...closed, ollama: ollama.port },
        timeoutMs: 60_000,
      },
    );
    const expected = {
      ...{ state: 'warn', text: /qwen3:latest \(context of 4096 tokens\)/ },
      advice: /OLLAMA_CONTEXT_LENGTH/,
    };
    expect(on('endpoints')).toMatchObject([any(expected)]);
    expect(on('model')).toMatchObject([any({ state: 'ok', text: /Its context has 4096 tokens/ })]);
  });

  test('19.19: of a local server that needs a key is reported as such', async () => {
    answer = { status: 401, body: '{"error":{"message":"Invalid API Key"}}' };
    const ports = { ...Object.fromEntries(localNames.map((n) => [n, closedPort])), litellm: port };
    const { on } = await examine({}, { ports, timeoutMs: 60_000 });
    expect(on('endpoints')).toMatchObject([any({ state: 'fail', text: /Set LITELLM_API_KEY/ })]);
    expect(on('model')).toMatchObject([any({ state: 'fail', text: /Set LITELLM_API_KEY/ })]);
  });

  test('of the configuration is asked with its own key', async () => {
    const model = { provider: 'compatible', model: 'm', baseUrl: `${here()}/api`, apiKey: key };
    const config = join(folder(), 'own.json');
    writeFileSync(config, JSON.stringify({ models: { mine: model } }));
    const args = { command: 'doctor', json: true, color: true, config } as const;
    const { on, stdout } = await examine({}, { args });
    expect(on('endpoints')).toMatchObject([{ state: 'ok', text: /^mine answers/ }].map(any));
    expect(asked[0]).toMatchObject({
      url: '/api/models',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(stdout).not.toContain('very-secret');
  });

  const withModel = (model: object) => {
    const config = join(folder(), 'own.json');
    writeFileSync(config, JSON.stringify({ models: { mine: model } }));
    return { args: { command: 'doctor', json: true, color: true, config } } as const;
  };

  test('of the configuration is asked as its provider wants it, with the usual key', async () => {
    const baseUrl = `${here()}/proxy`;
    const options = withModel({ provider: 'anthropic', model: 'claude-x', baseUrl });
    const { on } = await examine({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: here() }, options);
    expect(on('endpoints').map(({ state }) => state)).toEqual(['ok', 'ok']);
    expect(asked.map(({ url }) => url).sort()).toEqual(['/proxy/v1/models', '/v1/models']);
    for (const { headers } of asked) expect(headers).toMatchObject({ 'x-api-key': key });
  });

  test('that has no list of models is not said to be busy', async () => {
    answer = { status: 404, body: '' };
    const model = { provider: 'compatible', model: 'm', baseUrl: `${here()}/api` };
    const { on } = await examine({}, withModel(model));
    expect(on('endpoints')).toMatchObject([{ state: 'warn', advice: /address/ }].map(any));
  });

  test('with a password in its address is reported without the password', async () => {
    const OPENAI_BASE_URL = `http://me:hunter2@127.0.0.1:${port}/v1`;
    const { on, stdout } = await examine({ OPENAI_API_KEY: key, OPENAI_BASE_URL });
    expect(on('endpoints')).toMatchObject([{ state: 'warn', text: /password/ }].map(any));
    expect(stdout).not.toContain('hunter2');
  });
});

describe('a configuration', () => {
  test('that cannot be read fails, and everything else is looked at without it', async () => {
    const config = join(folder(), 'broken.json');
    writeFileSync(config, '{ "model": 7 }');
    const args = { command: 'doctor', json: true, color: true, config } as const;
    const { code, on } = await examine({}, { args });
    const expected = { state: 'fail', text: /broken\.json/, advice: /--config/ };
    expect(on('config')).toMatchObject([any(expected)]);
    expect(on('store')).toMatchObject([{ state: 'ok' }]);
    expect(code).toBe(exitCodes.error);
  });

  test('that asks for a model which there is no key for fails with what to set', async () => {
    const { on, code } = await examine({ MILLRACE_MODEL: 'anthropic/claude-sonnet-5-5' });
    expect(on('model')).toMatchObject([{ state: 'fail', text: /ANTHROPIC_API_KEY/ }].map(any));
    expect(code).toBe(exitCodes.error);
  });
});

describe('a store', () => {
  const path = () => join(home, '.local/share/millrace/sessions.db');

  test('with sessions: shows their number', async () => {
    const { log, close } = await openStore({ config: {}, env: { HOME: home } });
    await finishedSession(log, 'one', 'First', { cwd: '/here' });
    await close();
    const { on } = await examine();
    expect(on('store')).toMatchObject([{ state: 'ok', text: /^1 session in .*MiB\)$/ }].map(any));
  });

  test('below a file that is no folder fails, before a run does', async () => {
    const file = join(folder(), 'a-file');
    writeFileSync(file, '');
    const { on, code } = await examine({ XDG_DATA_HOME: join(file, 'data') });
    expect(on('store')).toMatchObject([{ state: 'fail', text: /not a folder/ }].map(any));
    expect(code).toBe(exitCodes.error);
  });

  test('that other users can read is reported', async () => {
    await (await openStore({ config: {}, env: { HOME: home } })).close();
    chmodSync(path(), 0o644);
    const { on } = await examine();
    expect(on('store')).toMatchObject([{ state: 'ok' }, { state: 'warn' }]);
  });

  test('that is damaged fails with the way out', async () => {
    await (await openStore({ config: {}, env: { HOME: home } })).close();
    writeFileSync(path(), 'no database'.repeat(1000));
    const { on, code } = await examine();
    expect(on('store')).toMatchObject([{ state: 'fail', text: /--store/ }].map(any));
    expect(code).toBe(exitCodes.error);
  });
});

describe('a terminal', () => {
  const terminal = (columns: number, rows: number) => ({
    stdin: Object.assign(Readable.from([]), { isTTY: true }),
    stdout: Object.assign(new CapturedOutput({ isTTY: true }), { columns, rows }),
  });
  const look = async (env: Record<string, string>, columns = 80, rows = 24) => {
    const { on } = await examine(env, terminal(columns, rows));
    return on('terminal');
  };

  test('is described by its size and colours', async () => {
    const ok = (text: string) => [{ about: 'terminal', state: 'ok', text }];
    expect(await look({ TERM: 'xterm' })).toEqual(ok('xterm, 80 × 24, with colours'));
    expect(await look({ TERM: 'xterm', NO_COLOR: '1' })).toEqual(
      ok('xterm, 80 × 24, without colours'),
    );
  });

  test('that is small, or has other characters, is a warning', async () => {
    expect(await look({ TERM: 'xterm' }, 40, 10)).toMatchObject([{ state: 'warn' }]);
    expect(await look({ TERM: 'xterm', LANG: 'C' })).toMatchObject([
      { state: 'ok' },
      any({ state: 'warn', text: /UTF-8/ }),
    ]);
  });
});

describe('checks', () => {
  test('are printed in their order, however long each takes', async () => {
    const later: Check = async () => {
      await new Promise(setImmediate);
      return [{ about: 'later', state: 'ok', text: 'slow' }];
    };
    const soon: Check = async () => [{ about: 'soon', state: 'ok', text: 'fast' }];
    const { findings } = await examine({}, { checks: [later, soon] });
    expect(findings.map(({ about }) => about)).toEqual(['config', 'later', 'soon']);
  });

  test('that throw are something that was found, and do not say what was thrown', async () => {
    const broken: Check = async () => {
      throw new RangeError(key);
    };
    const { code, on, stdout } = await examine({}, { checks: [broken] });
    expect(on('doctor')).toMatchObject([{ state: 'fail', text: /RangeError/ }].map(any));
    expect([code, stdout.includes(key)]).toEqual([exitCodes.error, false]);
  });

  test('fail if the output is full, and do not fail if its reader has closed it', async () => {
    const checks: readonly Check[] = [];
    const full = examine({}, { checks, stdout: new FailingOutput('ENOSPC') });
    await expect(full).rejects.toMatchObject({ code: 'cannot_write' });
    const args = { command: 'doctor', json: false, color: true } as const;
    const left = await examine({}, { checks, args, stdout: new FailingOutput('EPIPE') });
    expect(left.code).toBe(exitCodes.done);
  });
});

describe('what is configured', () => {
  const configure = (config: object) => {
    mkdirSync(join(home, '.config/millrace'), { recursive: true });
    writeFileSync(join(home, '.config/millrace/config.json'), JSON.stringify(config));
  };

  test('23.12: a key of a model counts as a key', async () => {
    const one = { provider: 'compatible', model: 'a', baseUrl: here(), apiKey: key };
    configure({ models: { one } });
    const { on, stdout } = await examine();
    expect(on('keys')).toEqual([{ about: 'keys', state: 'ok', text: 'The model one has a key' }]);
    expect(stdout).not.toContain(key);
  });

  test('23.5: MCP servers are started, and those that fail are named', async () => {
    const command = process.execPath;
    const good = { command, args: [mcpServer, '{"tools":[]}', '{}'], env: childEnv() };
    const slow = { command, args: ['-e', 'setInterval(() => {}, 1e6)'], connectTimeoutMs: 200 };
    configure({ mcpServers: { good, slow } });
    const { on, code } = await examine();
    expect(code).toBe(exitCodes.error);
    expect(on('mcp')).toMatchObject(
      [
        { state: 'ok', text: /The MCP server good offers 0 tools/ },
        {
          state: 'fail',
          text: /slow.*within 200 ms/,
          advice: /mcpServers\.slow.*connectTimeoutMs/,
        },
      ].map(any),
    );
  });
});
