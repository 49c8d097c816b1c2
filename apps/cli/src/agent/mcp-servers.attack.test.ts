import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stdioServer } from '../../../../packages/tools/src/testing/mcp-connections.ts';
import { writeTree } from '../../../../packages/tools/src/testing/temporary-folder.ts';
import { loadConfig } from '../config/load-config.ts';
import { folderWith, homeAndProject, testAgent } from '../testing/test-agent.ts';
import { connectMcpServers } from './mcp-servers.ts';

// A hostile project contains a program with the name of a server that the user configured for all
// projects. Millrace starts the servers before it asks the user anything.

let outer: string;
let project: string;
let mark: string;
beforeEach(() => {
  outer = folderWith();
  project = join(outer, 'project');
  mark = join(outer, 'attacked');
});

afterEach(() => void vi.unstubAllEnvs());

const usualPath = process.env['PATH'] ?? '';

/** Starts a server of the user's own file. Returns whether a program of the project ran. */
async function runsProject(server: object, options: { path?: string; trusted?: boolean } = {}) {
  const { path = usualPath, trusted = false } = options;
  const home = join(outer, 'home');
  const file = trusted
    ? join(project, 'millrace.json')
    : join(home, '.config/millrace/config.json');
  const program = `#!/bin/sh\necho > '${mark}'\n`;
  writeTree(outer, {
    'project/.git/HEAD': 'ref: refs/heads/main\n',
    'project/package.json': '{"name":"p"}',
    'project/node_modules/my-mcp/package.json':
      '{"name":"my-mcp","version":"1.0.0","bin":"run.sh"}',
    'project/node_modules/my-mcp/run.sh': program,
    'home/.config/millrace/config.json': '{}',
    [file.slice(outer.length + 1)]: JSON.stringify({ mcpServers: { x: server } }),
  });
  chmodSync(join(project, 'node_modules/my-mcp/run.sh'), 0o755);
  mkdirSync(join(project, 'node_modules/.bin'));
  symlinkSync('../my-mcp/run.sh', join(project, 'node_modules/.bin/my-mcp'));
  symlinkSync(join(project, 'node_modules/.bin'), join(outer, 'link'));
  // Servers inherit the environment variables of this process.
  vi.stubEnv('PATH', path);
  const env = { HOME: home, PATH: path };
  const config = await loadConfig({ args: { trust: trusted }, env, cwd: project });
  expect(config.mcpServers).toHaveLength(1);
  const servers = connectMcpServers(config.mcpServers);
  await servers.ready;
  const { problems } = servers.current();
  await servers.close();
  // The program of the project is not used, and the real program is missing. So the server fails.
  expect(problems).toHaveLength(1);
  return existsSync(mark);
}

test('attack 22: npx in a server of the user does not run a package of the project', async () => {
  const env = { npm_config_offline: 'true', npm_config_cache: join(outer, 'cache') };
  const server = { command: 'npx', args: ['-y', 'my-mcp'], env };
  expect(await runsProject(server)).toBe(false);
});

test.for([
  ['a relative entry of PATH', (path: string) => `node_modules/.bin:${path}`],
  [
    'an entry of PATH that is inside the project',
    (path: string) => `${project}/node_modules/.bin:${path}`,
  ],
  ['an entry of PATH that is a link into the project', (path: string) => `${outer}/link:${path}`],
  [
    'an entry of PATH with dots',
    (path: string) => `${outer}/home/../project/node_modules/.bin:${path}`,
  ],
] as const)(
  'attack 22: %s does not find a server of the user in the project',
  async ([, pathFrom]) => {
    const server = { command: 'my-mcp', cwd: '.' };
    expect(await runsProject(server, { path: pathFrom(usualPath) })).toBe(false);
  },
);

test('attack 22: an empty entry of PATH does not find a server of the user in the project', async () => {
  const server = { command: 'run.sh', cwd: 'node_modules/my-mcp' };
  expect(await runsProject(server, { path: `:${usualPath}:` })).toBe(false);
});

test('attack 22: a relative command of the user is not one of the project', async () => {
  expect(await runsProject({ command: './node_modules/my-mcp/run.sh' })).toBe(false);
});

test('18.80: attack: no tool gets a name that belongs to another server', async () => {
  // The test server has a tool `fail_mutely`. A rule for the tool `mutely` of the server `a_fail`
  // has the same name, so it would allow this tool.
  const servers = ['a', 'a_fail'].map((name) => ({ ...stdioServer(), name }));
  const connected = connectMcpServers(servers);
  await connected.ready;
  const { tools, problems } = connected.current();
  await connected.close();
  const names = tools.map(({ name }) => name);
  expect(names).toContain('a_echo');
  expect(names).toContain('a_fail_echo');
  expect(names).toContain('a_fail_fail_mutely');
  expect(names).not.toContain('a_fail_mutely');
  expect(problems.join()).toContain('a_fail_mutely');
});

test('a server of a trusted project starts in the project', async () => {
  const server = { command: './node_modules/my-mcp/run.sh' };
  expect(await runsProject(server, { trusted: true })).toBe(true);
});

test('a server of the user starts in the project if its cwd says so', async () => {
  const server = { command: './node_modules/my-mcp/run.sh', cwd: '.' };
  expect(await runsProject(server)).toBe(true);
});

describe('the script of an MCP server of a trusted project', () => {
  const files = {
    'project/millrace.json': JSON.stringify({
      mcpServers: { proj: { command: 'node', args: ['tools/mcp.mjs', '--db', 'data/app.db'] } },
    }),
    'project/tools/mcp.mjs': 'process.exit(1);\n',
    'project/data/app.db': 'rows',
    'project/src/a.ts': 'export {};\n',
  };
  const trusted = async () => {
    const { cwd, env } = homeAndProject(files);
    const config = await loadConfig({ args: { trust: true }, env, cwd });
    expect(config.mcpServers).toHaveLength(1);
    return { cwd, env, config };
  };

  test('18.158: attack: does not run after it changed', async () => {
    const { cwd, env } = await trusted();
    writeFileSync(join(cwd, 'src/a.ts'), 'export const a = 1;\n');
    writeFileSync(join(cwd, 'data/app.db'), 'more rows');
    expect((await loadConfig({ args: {}, env, cwd })).mcpServers).toHaveLength(1);
    writeFileSync(join(cwd, 'tools/mcp.mjs'), 'evil();\n');
    const changed = await loadConfig({ args: {}, env, cwd });
    expect(changed.mcpServers).toEqual([]);
    expect(changed.warnings.join()).toContain('--trust');
    expect(changed.untrusted?.scripts).toMatchObject([{ path: 'tools/mcp.mjs', isChanged: true }]);
  });

  test.each([
    ['write', { path: 'tools/mcp.mjs', content: 'evil();\n' }],
    ['edit', { path: 'tools/mcp.mjs', edits: [{ old_text: 'process', new_text: 'evil' }] }],
    ['write', { path: 'link.mjs', content: 'evil();\n' }],
  ])('18.158: attack: is not changed by %s %o in the mode accept-edits', async (name, input) => {
    const { cwd, env, config } = await trusted();
    symlinkSync('tools/mcp.mjs', join(cwd, 'link.mjs'));
    const call = toolCallPart(toolCallId('a'), name, input);
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'Done.']);
    const permissions = { mode: 'accept-edits', rules: [] } as const;
    const { serverFiles } = config;
    const options = { provider, cwd, env, approve: 'park' } as const;
    const built = await testAgent({ ...options, config: { permissions, serverFiles } });
    await built.agent.run('Go', { session: sessionId('s') }).result;
    expect(readFileSync(join(cwd, 'tools/mcp.mjs'), 'utf8')).toBe(files['project/tools/mcp.mjs']);
  });
});

test.for([
  ['changes', 'tools/server.mjs'],
  ['is created with a name that the interpreter prefers', 'tools/server'],
])('18.190: attack: a server starts again after its script %s', async ([, file = '']) => {
  const { stdio } = stdioServer();
  const real = String(stdio?.args?.at(-1));
  writeTree(project, { '.git/HEAD': 'ref: refs/heads/main\n' });
  writeTree(project, { 'tools/server.mjs': `import ${JSON.stringify(real)};\n` });
  const run = `exec node ${file === 'tools/server' ? '$(ls tools/server || echo tools/server.mjs)' : file}`;
  const command = { command: 'sh', args: ['-c', run, 'tools/server'], cwd: project };
  const connected = connectMcpServers([{ name: 's', stdio: command }], { cwd: project });
  await connected.ready;
  expect(connected.list()).toMatchObject([{ state: 'connected' }]);
  writeTree(project, { [file]: `require('fs').writeFileSync(${JSON.stringify(mark)}, '')` });
  await connected.reconnect('s');
  expect(connected.list()).toMatchObject([
    { state: 'failed', problem: expect.stringContaining('has changed') },
  ]);
  await connected.close();
  expect(existsSync(mark)).toBe(false);
});

describe('18.198: attack: in the mode accept-edits, the agent does not create', () => {
  const serverWith = (args: readonly string[]) =>
    JSON.stringify({ mcpServers: { s: { command: args[0], args: args.slice(1) } } });
  /** Writes a file with the tool `write`. Returns whether the file exists afterwards. */
  async function writes(files: Readonly<Record<string, string>>, path: string) {
    const { cwd, env } = homeAndProject(files);
    const config = await loadConfig({ args: { trust: true }, env, cwd });
    expect(config.mcpServers).toHaveLength(1);
    const call = toolCallPart(toolCallId('a'), 'write', { path, content: 'evil' });
    const provider = scriptedProvider([{ content: { parts: [call] } }, 'Done.']);
    const permissions = { mode: 'accept-edits', rules: [] } as const;
    const { serverFiles } = config;
    const options = { provider, cwd, env, approve: 'park' } as const;
    const built = await testAgent({ ...options, config: { permissions, serverFiles } });
    await built.agent.run('Go', { session: sessionId('s') }).result;
    return existsSync(join(cwd, path)) && readFileSync(join(cwd, path), 'utf8') === 'evil';
  }

  test.each([
    ['tools/server', ['node', 'tools/server'], 'tools/server.js'],
    ['tools/server.json', ['node', 'tools/server'], 'tools/server.mjs'],
    ['mcp.js', ['node', './mcp'], 'mcp/index.js'],
    ['mcp/package.json', ['node', './mcp'], 'mcp/index.js'],
    ['package.json', ['node', '.'], 'index.js'],
    ['tools/server/__init__.py', ['python3', '-m', 'tools.server'], 'tools/server.py'],
    ['tools/__init__.py', ['python3', '-m', 'tools'], 'tools/__main__.py'],
  ])('%s, which %j would run in place of %s', async (created, args, script) => {
    const files = { 'project/millrace.json': serverWith(args), [`project/${script}`]: 'one' };
    expect(await writes(files, created)).toBe(false);
    expect(await writes(files, 'src/other.js')).toBe(true);
  });
});

describe('18.198: attack: for a server of the user, the policy protects', () => {
  const serverFiles = async (command: string, args: readonly string[], script: string) => {
    const file = 'home/.config/millrace/config.json';
    const settings = JSON.stringify({ mcpServers: { s: { command, args } } });
    const { cwd, env } = homeAndProject({ [file]: settings, [`project/${script}`]: 'one' });
    const config = await loadConfig({ args: {}, env: { ...env, ROOT: cwd }, cwd });
    return config.serverFiles?.map((path) => relative(cwd, path));
  };
  const root = '$'.concat('{ROOT}');

  test('a script in the workspace, and the names that would run in place of it', async () => {
    const exact = await serverFiles('node', [`${root}/tools/server.js`], 'tools/server.js');
    expect(exact).toEqual(['tools/server.js']);
    const short = await serverFiles('node', [`${root}/tools/server`], 'tools/server.js');
    expect(short).toEqual(expect.arrayContaining(['tools/server', 'tools/server.js']));
  });

  test('no file of a folder that the server gets as data', async () => {
    expect(await serverFiles('npx', ['-y', 'files-mcp', root], 'index.js')).toEqual([]);
  });
});
