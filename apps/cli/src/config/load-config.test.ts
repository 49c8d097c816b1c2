import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSessionPolicy } from '../agent/session-policy.ts';
import type { RunArgs } from '../contract/args.ts';
import { ConfigError, UsageError } from '../contract/errors.ts';
import { rememberRule } from './folders-file.ts';
import { loadConfig } from './load-config.ts';

let root: string;
let cwd: string;
let home: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-config-')));
  home = join(root, 'home');
  cwd = join(root, 'project');
  mkdirSync(home);
  mkdirSync(join(cwd, '.git'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, content: unknown): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    typeof content === 'string' ? content : JSON.stringify(content, undefined, 2),
  );
  return path;
}
const writeProject = (content: unknown) => write(join(cwd, 'millrace.json'), content);
const writeUser = (content: unknown) => write(join(home, '.config/millrace/config.json'), content);
const load = (args: Partial<RunArgs> = {}, env: Readonly<Record<string, string>> = {}) =>
  loadConfig({ args, env: { HOME: home, ...env }, cwd });
const trusted = { trust: true } as const;

async function failure(promise: Promise<unknown>): Promise<ConfigError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError))
    throw new Error('it did not fail as expected', { cause: error });
  return error;
}

describe('where a setting comes from', () => {
  test('without any, there is nothing but the usual', async () => {
    expect(await load()).toMatchObject({
      model: undefined,
      models: {},
      permissions: { mode: 'ask', rules: [] },
      mcpServers: [],
      files: [],
      warnings: [],
    });
  });

  test('flags come before the environment, before the project, before the user', async () => {
    writeUser({
      model: 'user',
      system: 'user',
      limits: { maxTurns: 9, maxTokens: 10, maxCostUsd: 0.5 },
    });
    expect(await load()).toMatchObject({
      model: 'user',
      limits: { maxTurns: 9, maxTokens: 10, maxCost: { amount: '0.5', currency: 'USD' } },
    });
    writeProject({ model: 'project', limits: { maxTurns: 2 } });
    expect(await load()).toMatchObject({
      model: 'project',
      system: 'user',
      limits: { maxTurns: 2, maxTokens: 10 },
    });
    const env = { MILLRACE_MODEL: 'env', MILLRACE_MAX_TURNS: '3', MILLRACE_MAX_COST: '0.25' };
    expect(await load({}, env)).toMatchObject({
      model: 'env',
      limits: { maxTurns: 3, maxTokens: 10, maxCost: { amount: '0.25', currency: 'USD' } },
    });
    expect(await load({ model: 'flag', maxTurns: 4 }, env)).toMatchObject({
      model: 'flag',
      limits: { maxTurns: 4 },
    });
  });

  test('XDG_CONFIG_HOME is where the user has it, unless it is relative', async () => {
    const path = write(join(root, 'xdg/millrace/config.json'), { model: 'xdg' });
    const config = await load({}, { XDG_CONFIG_HOME: join(root, 'xdg') });
    expect(config).toMatchObject({ model: 'xdg', files: [path] });
    expect(await load({}, { XDG_CONFIG_HOME: 'xdg' })).toMatchObject({ model: undefined });
  });

  test("the project's file is the nearest one, up to the repository's root and no further", async () => {
    write(join(root, 'millrace.json'), { model: 'outside' });
    const above = writeProject({ model: 'above' });
    const deep = join(cwd, 'a/b');
    mkdirSync(deep, { recursive: true });
    const at = (folder: string) => loadConfig({ args: {}, env: { HOME: home }, cwd: folder });
    expect(await at(deep)).toMatchObject({ model: 'above', files: [above] });
    write(join(deep, 'millrace.json'), { model: 'near' });
    expect(await at(deep)).toMatchObject({ model: 'near' });
    expect((await at(home)).model).toBeUndefined();
  });

  test('--config is used alone, and has to be there', async () => {
    writeUser({ model: 'user' });
    writeProject({ model: 'project' });
    const path = write(join(root, 'own.json'), {
      models: { a: { provider: 'openai', model: 'b' } },
    });
    expect(await load({ config: path })).toMatchObject({ model: undefined, files: [path] });
    expect((await load({ config: path })).models['a']).toEqual({ provider: 'openai', model: 'b' });
    expect(await load({}, { MILLRACE_CONFIG: path })).toMatchObject({ files: [path] });
    const { message } = await failure(load({ config: 'none.json' }));
    expect(message).toContain(`${join(cwd, 'none.json')}: the file does not exist`);
  });

  test('the store of a file is beside that file, one that is typed is here', async () => {
    writeUser({ store: 'here.db' });
    expect((await load()).store).toBe(join(home, '.config/millrace/here.db'));
    expect((await load({}, { MILLRACE_STORE: 'env.db' })).store).toBe(join(cwd, 'env.db'));
    expect((await load({ store: 'typed.db' })).store).toBe(join(cwd, 'typed.db'));
  });
});

describe('a mistake names the file and the place, and what to do', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    [
      'a name that is nearly one',
      '{\n  "modle": "x"\n}',
      'millrace.json:2:3: modle is unknown. Did you mean model?',
    ],
    ['a name like no other', { zzz: 1 }, 'zzz is unknown. Known names: $schema, model, models'],
    [
      'deeper',
      { models: { a: { provider: 'openai', model: 'b', baseURL: 'c' } } },
      'models.a.baseURL is unknown. Did you mean baseUrl?',
    ],
    ['a wrong type', { limits: { maxTurns: 'many' } }, 'limits.maxTurns must be a number'],
    ['no whole number', { limits: { maxTurns: 1.5 } }, 'limits.maxTurns must be a whole number'],
    ['too small', { limits: { maxTurns: 0 } }, 'limits.maxTurns must be at least 1'],
    [
      'one of several',
      { models: { a: { provider: 'opnai', model: 'b' } } },
      'models.a.provider must be one of anthropic, openai',
    ],
    ['missing', { models: { a: { provider: 'openai' } } }, 'models.a.model must be a string'],
    ['empty', { model: '' }, 'model is empty'],
    ['no object', [], 'must be an object'],
    ['no JSON', '{\n  "model": a\n}', '2:12: expected'],
    ['a comma too many', '{\n  "model": "a",\n}', 'Remove the comma before it'],
    ['a comment in a line', '{ "model": "a" /* mine */ }', 'JSON has no comments'],
    ['a comment', '{\n  // mine\n  "model": "a"\n}', 'JSON has no comments'],
    [
      'a rule',
      { permissions: { deny: ['read', 'bash:a && b'] } },
      'permissions.deny[1] is not a valid rule',
    ],
    [
      'a rule without a tool',
      { permissions: { ask: [': x'] } },
      'it does not start with the name of a tool',
    ],
    [
      'a server that is nothing',
      { mcpServers: { a: {} } },
      'mcpServers.a needs either a command or a url',
    ],
    [
      'a server that is both',
      { mcpServers: { a: { command: 'a', url: 'b' } } },
      'needs either a command or a url',
    ],
    [
      'a field of the other kind',
      { mcpServers: { a: { url: 'http://a', args: [] } } },
      'mcpServers.a.args belongs to a command',
    ],
    [
      'no address',
      { mcpServers: { a: { url: 'nowhere' } } },
      'mcpServers.a.url must be an http or https URL',
    ],
    [
      'no address of a model',
      { models: { a: { provider: 'openai', model: 'b', baseUrl: 'ftp://c' } } },
      'models.a.baseUrl must be an http or https URL',
    ],
    [
      'an unknown server',
      { models: { a: { provider: 'compatible', model: 'b' } } },
      'models.a needs a baseUrl',
    ],
  ];

  test.each(cases)('%s', async (_, content, message) => {
    const path = writeProject(content);
    const error = await failure(load(trusted));
    expect(error.message).toContain(message);
    expect(error.message).toContain(path);
  });

  test('the line and the column lead there', async () => {
    writeProject('{\n  "permissions": {\n    "allow": ["read",\n      "bash: "]\n  }\n}');
    expect((await failure(load(trusted))).message).toContain(
      'millrace.json:4:7: permissions.allow[1]',
    );
  });

  test('variables and flags too', async () => {
    expect((await failure(load({}, { MILLRACE_MAX_TURNS: 'x' }))).message).toContain(
      'MILLRACE_MAX_TURNS',
    );
    expect((await failure(load({}, { MILLRACE_MAX_COST: '1e2' }))).message).toContain(
      'MILLRACE_MAX_COST',
    );
    const rules = [{ tool: 'bash', command: 'a | b', decision: 'allow' }] as const;
    await expect(load({ rules })).rejects.toThrow(UsageError);
    await expect(load({ rules })).rejects.toThrow('Change --allow or --deny');
  });

  test('what stands there is never told', async () => {
    const secret = 'sk-live-0123456789';
    const bad: readonly unknown[] = [
      { models: { a: { provider: secret, model: 'b' } } },
      { models: { a: { provider: 'openai', model: 'b', apiKey: [secret] } } },
      { models: { a: { provider: 'openai', model: 'b', baseUrl: secret } } },
      { mcpServers: { a: { url: `nowhere?key=${secret}` } } },
      { mcpServers: { a: { command: 'x', headers: { authorization: secret } } } },
      `{"models":{"a":{"apiKey":"${secret}"`,
    ];
    for (const content of bad) {
      writeProject(content);
      const error = await failure(load(trusted));
      expect(JSON.stringify([error.message, error.place])).not.toContain('0123456789');
    }
  });
});

describe('models and servers', () => {
  const variable = (name: string) => `\${${name}}`;

  const models = {
    fast: {
      provider: 'openai',
      model: 'gpt',
      apiKey: variable('FAST_KEY'),
      headers: { a: `x-${variable('FAST_KEY')}-y` },
    },
    local: {
      provider: 'compatible',
      model: 'any',
      baseUrl: `http://${variable('HOST:-localhost')}:1/v1`,
    },
  };

  test('variables are put in, and a default where there is none', async () => {
    writeUser({ models });
    const config = await load({}, { FAST_KEY: 'k' });
    expect(config.models['fast']).toMatchObject({ apiKey: 'k', headers: { a: 'x-k-y' } });
    expect(config.models['local']).toMatchObject({ baseUrl: 'http://localhost:1/v1' });
    expect(config.warnings).toEqual([]);
  });

  test('one whose variable is not set is left out, and that is said', async () => {
    writeUser({ models, mcpServers: { a: { command: 'x', env: { TOKEN: variable('A_TOKEN') } } } });
    const { models: found, mcpServers, warnings } = await load();
    expect(Object.keys(found)).toEqual(['local']);
    expect(mcpServers).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/^The model fast of .*config.json is skipped: set FAST_KEY$/),
      expect.stringMatching(/^The MCP server a of .*config.json is skipped: set A_TOKEN$/),
    ]);
  });

  test('servers are what connectMcp takes, and a project can switch one off', async () => {
    const headers = { authorization: `Bearer ${variable('T')}` };
    writeUser({
      mcpServers: {
        files: { type: 'stdio', command: 'files', args: [variable('T')], cwd: 'sub' },
        web: { type: 'http', url: 'https://web.test/mcp', headers },
        old: { command: 'old', disabled: true },
      },
    });
    expect((await load({}, { T: 't' })).mcpServers).toEqual([
      {
        name: 'files',
        stdio: { command: 'files', args: ['t'], env: undefined, cwd: join(cwd, 'sub') },
      },
      {
        name: 'web',
        http: { url: 'https://web.test/mcp', headers: { authorization: 'Bearer t' } },
        login: { folder: expect.stringMatching(/millrace.mcp-logins$/) },
      },
    ]);
    writeProject({ mcpServers: { web: { url: 'https://web.test/mcp', disabled: true } } });
    const names = (await load(trusted, { T: 't' })).mcpServers.map(({ name }) => name);
    expect(names).toEqual(['files']);
  });
});

describe('permissions', () => {
  test('rules go from the user over the project to the flags', async () => {
    writeUser({ permissions: { deny: ['*:.env'], allow: ['bash:git status'] } });
    writeProject({ permissions: { ask: ['bash:git'] } });
    const rules = [{ tool: 'edit', decision: 'allow' }] as const;
    expect((await load({ rules })).permissions).toEqual({
      mode: 'ask',
      rules: [
        { tool: 'bash', command: 'git status', decision: 'allow' },
        { path: '.env', decision: 'deny' },
        { tool: 'bash', command: 'git', decision: 'ask' },
        { tool: 'edit', decision: 'allow' },
      ],
    });
  });

  test('--yes allows what is not denied, --read-only denies what changes or runs', async () => {
    const { createWorkspace } = await import('@millrace/tools');
    const nothing = async () => {};
    writeUser({ permissions: { deny: ['bash:rm'] } });
    const decide = async (args: Partial<RunArgs>, tool: string, input: object) => {
      const { permissions } = await load(args);
      const policy = createSessionPolicy({
        ...{ workspace: createWorkspace({ root: cwd }), ...permissions, isConfined: false },
        ...{ saveRule: nothing, deleteRule: nothing },
      });
      return policy.current().decide({ tool, input }).decision;
    };
    const yes = { permissions: 'allow' } as const;
    expect(await decide(yes, 'bash', { command: 'make all' })).toBe('allow');
    expect(await decide(yes, 'write', { path: 'a' })).toBe('allow');
    expect(await decide(yes, 'bash', { command: 'rm -rf a' })).toBe('deny');
    const no = { permissions: 'read-only' } as const;
    expect(await decide(no, 'bash', { command: 'ls' })).toBe('deny');
    expect(await decide(no, 'edit', { path: 'a' })).toBe('deny');
    expect(await decide(no, 'read', { path: 'a' })).toBe('allow');
  });

  test('what is remembered holds for that folder, in later sessions too', async () => {
    const config = await load();
    await rememberRule(config, cwd, {
      tool: 'bash',
      command: 'npm test',
      exact: true,
      decision: 'allow',
    });
    await rememberRule(config, cwd, { tool: 'write', path: 'a.ts', exact: true, decision: 'deny' });
    await rememberRule(config, cwd, {
      tool: 'bash',
      command: 'npm test',
      exact: true,
      decision: 'allow',
    });
    expect((await load()).permissions.rules).toEqual([
      { tool: 'bash', command: 'npm test', exact: true, decision: 'allow' },
      { tool: 'write', path: 'a.ts', exact: true, decision: 'deny' },
    ]);
    const elsewhere = await loadConfig({ args: {}, env: { HOME: home }, cwd: home });
    expect(elsewhere.permissions.rules).toEqual([]);
    expect(statSync(config.foldersFile ?? '').mode & 0o777).toBe(0o600);
  });

  test('without a home nothing can be remembered, and that is said', async () => {
    const config = await loadConfig({ args: {}, env: {}, cwd });
    const error = await failure(rememberRule(config, cwd, { tool: 'bash', decision: 'allow' }));
    expect(error.message).toContain('neither XDG_CONFIG_HOME nor HOME is set');
  });
});

describe('the file of a project that nobody trusts yet', () => {
  const risky = {
    model: 'mine',
    models: { mine: { provider: 'openai', model: 'gpt', baseUrl: 'https://elsewhere.test' } },
    mcpServers: { a: { command: 'anything' } },
    permissions: { mode: 'allow', allow: ['bash'], deny: ['*:.env'] },
  };

  test('starts no program, sends no key elsewhere and allows nothing', async () => {
    const path = writeProject(risky);
    const config = await load();
    expect(config).toMatchObject({ model: 'mine', models: {}, mcpServers: [] });
    expect(config.permissions).toEqual({
      mode: 'ask',
      rules: [{ path: '.env', decision: 'deny' }],
    });
    const parts = ['models', 'mcpServers', 'permissions.allow', 'permissions.mode'];
    expect(config.untrusted).toMatchObject({ path, parts });
    expect(config.warnings).toEqual([expect.stringContaining('trust it with --trust')]);
  });

  test('is taken whole with --trust, from then on, until it changes', async () => {
    writeProject(risky);
    expect(await load(trusted)).toMatchObject({ untrusted: undefined, warnings: [] });
    const config = await load();
    expect(config.mcpServers.map(({ name }) => name)).toEqual(['a']);
    expect(config.permissions.mode).toBe('allow');
    writeProject({ ...risky, system: 'Be brief.' });
    expect((await load()).untrusted).toBeUndefined();
    writeProject({ ...risky, mcpServers: { a: { command: 'another' } } });
    expect(await load()).toMatchObject({ mcpServers: [], untrusted: { path: expect.any(String) } });
  });

  test('needs no trust for what can do no harm', async () => {
    writeProject({
      system: 'Be brief.',
      limits: { maxTurns: 2 },
      permissions: { mode: 'read-only', deny: ['bash'] },
    });
    expect(await load()).toMatchObject({
      system: 'Be brief.',
      permissions: { mode: 'read-only' },
      warnings: [],
    });
  });

  test('makes nothing looser than the own file has it, and may make it stricter', async () => {
    writeUser({ permissions: { mode: 'read-only' }, limits: { maxTurns: 5, maxCostUsd: 1 } });
    const limits = {
      ...{ maxTurns: 500, maxTokens: 10, maxCostUsd: 0.5 },
      // A project must not remove the user's cost limit.
      allowUnknownPrices: true,
    };
    const path = writeProject({ permissions: { mode: 'ask' }, limits });
    const config = await load();
    expect(config.permissions.mode).toBe('read-only');
    expect(config.limits).toEqual({
      ...{ maxTurns: 5, maxTokens: 10 },
      maxCost: { amount: '0.5', currency: 'USD' },
    });
    expect(config.untrusted).toMatchObject({ path, parts: ['permissions.mode', 'limits'] });
    expect(await load(trusted)).toMatchObject({
      permissions: { mode: 'ask' },
      limits: { maxTurns: 500 },
    });
    writeUser({ permissions: { mode: 'allow' } });
    expect((await load()).permissions.mode).toBe('ask');
  });

  test('cannot choose a mode that asks less, and can choose plan mode', async () => {
    for (const mode of ['accept-edits', 'auto', 'allow']) {
      writeProject({ permissions: { mode } });
      const config = await load();
      expect(config.permissions.mode).toBe('ask');
      expect(config.untrusted).toMatchObject({ parts: ['permissions.mode'] });
    }
    writeProject({ permissions: { mode: 'plan' } });
    expect(await load()).toMatchObject({ permissions: { mode: 'plan' }, untrusted: undefined });
    writeUser({ permissions: { mode: 'accept-edits' } });
    writeProject({ permissions: { mode: 'auto' } });
    expect((await load()).permissions.mode).toBe('accept-edits');
  });

  test('has to be a file: a pipe in its place is an error, and nothing waits for it', async () => {
    execFileSync('mkfifo', [join(cwd, 'millrace.json')]);
    expect((await failure(load())).message).toMatch(
      /millrace\.json: it is not a regular file.*--config/,
    );
  });

  test('a trusted link to the folder is the same folder', async () => {
    writeProject(risky);
    await load(trusted);
    const link = join(root, 'link');
    symlinkSync(cwd, link);
    const config = await loadConfig({ args: {}, env: { HOME: home }, cwd: link });
    expect(config.untrusted).toBeUndefined();
    const decided = JSON.parse(readFileSync(config.foldersFile ?? '', 'utf8')) as object;
    expect(Object.keys(decided)).toEqual([cwd]);
  });
});

test('remembered settings of a folder that cannot be used: the error names their file', async () => {
  const path = write(join(home, '.config/millrace/folders.json'), { [cwd]: { allow: ['a:b'] } });
  expect((await failure(load())).message).toMatch(`${path}: Cannot use the rule "a:b"`);
});

test('a file without end is too large, and is not read to its end', async () => {
  const config = write(join(root, 'large.json'), ' '.repeat(9_000_000));
  expect((await failure(load({ config }))).message).toMatch(/large\.json: it is larger than/);
});

test('an address with a password is an error that does not contain the password', async () => {
  const model = { provider: 'compatible', model: 'm', baseUrl: 'http://me:hunter2@host.test/v1' };
  writeProject({ models: { mine: model } });
  const { message } = await failure(load(trusted));
  expect(message).toContain('models.mine.baseUrl contains a password');
  expect(message).not.toContain('hunter2');
});
