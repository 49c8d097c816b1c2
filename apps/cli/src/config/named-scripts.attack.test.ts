import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { homeAndProject, hookSettings } from '../testing/test-agent.ts';
import { loadConfig } from './load-config.ts';
import { findServerScripts } from './server-scripts.ts';

// A model changes a file that a server of the project executes. The command names the file in an unusual form.

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const servers: readonly (readonly [file: string, server: Server])[] = [
  ['mod.py', { command: 'python3', args: ['-mmod'] }],
  ['mod.py', { command: 'python3', args: ['-Bummod'] }],
  ['a/mod.py', { command: 'python3', args: ['-ma.mod'] }],
  ['a/__init__.py', { command: 'python3', args: ['-m', 'a'] }],
  ['server/__main__.py', { command: 'python3', args: ['-Bmserver'] }],
  ['src/mod.py', { command: 'python3', args: ['-m', 'mod'], env: { PYTHONPATH: 'src:lib' } }],
  ['lib/mod.py', { command: 'python3', args: ['-mmod'], env: { PYTHONPATH: 'src:./lib:' } }],
  ['tools/server.awk', { command: 'awk', args: ['-ftools/server.awk', '/dev/null'] }],
  ['srv.mk', { command: 'make', args: ['-sfsrv.mk'] }],
  ['x.rb', { command: 'ruby', args: ['-r./x.rb', '-e', '1'] }],
  ['x.rb', { command: 'ruby', args: ['-r./x', '-e', '1'] }],
  ['Mod.pm', { command: 'perl', args: ['-I.', '-MMod', '-e', '1'] }],
  ['lib/Orders/Check.pm', { command: 'perl', args: ['-Ilib', '-MOrders::Check', '-e', '1'] }],
  ['lib/orders.lua', { command: 'lua', args: ['-lorders'], env: { LUA_PATH: 'lib/?.lua' } }],
  ['lib/b.jar', { command: 'java', args: ['-cp', 'lib/a.jar:lib/b.jar', 'Main'] }],
  ['out/com/Main.class', { command: 'java', args: ['-cp', 'lib:out', 'com.Main'] }],
  ['args.txt', { command: 'java', args: ['@args.txt'] }],
  ['cmd/server/main.go', { command: 'go', args: ['run', './cmd/server'] }],
  ['cmd/server/more.go', { command: '/usr/local/go/bin/go', args: ['run', './cmd/server'] }],
  ['cmd/server/main.go', { command: 'go', args: ['run', 'example.com/me/orders/cmd/server'] }],
  ['main.go', { command: 'go', args: ['-C', 'sub/..', 'run', '.'] }],
  ['srv/index.tsx', { command: 'bun', args: ['srv'] }],
];

test.each(servers)('18.898: attack: %s changes, and the server is %j', async (file, server) => {
  const { cwd } = homeAndProject({
    ...{ [`project/${file}`]: '', 'project/sub/a.txt': '', 'project/other.go': '' },
    ...{ 'project/other.py': '', 'project/src/other.py': '', 'project/lib/other.py': '' },
  });
  const { files } = await findServerScripts([server], cwd);
  expect(files).toContain(join(cwd, file));
  expect(files.filter((path) => path.endsWith('other.py'))).toEqual([]);
});

test('18.898: attack: the lists of a server have very many folders of the system', async () => {
  const { cwd } = homeAndProject({ 'project/src/mod.py': '' });
  const list = ['/usr', '/bin', '/etc', '/opt', '/var', '/tmp', '/lib', '/home', '/root', '/srv'];
  const more = ['/usr/bin', '/usr/lib', '/usr/share', '/usr/local', '/usr/local/bin', '/var/lib'];
  const env = { PATH: [...list, ...more].join(':'), PYTHONPATH: 'src' };
  const { files } = await findServerScripts([{ command: 'python3', args: ['-mmod'], env }], cwd);
  expect(files).toEqual([join(cwd, 'src/mod.py')]);
});

test('the files of a folder that a server only shows do not count', async () => {
  const { cwd } = homeAndProject({ 'project/main.go': '', 'project/docs/a.md': '' });
  for (const args of [
    ['-y', 'server-filesystem', '.'],
    ['docs', './docs'],
  ])
    expect((await findServerScripts([{ command: 'npx', args }], cwd)).files).toEqual([]);
});

test('18.898: attack: very many letters of options, folders and packages', async () => {
  const { cwd } = homeAndProject({
    ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`project/d${at}/a.go`, ''])),
  });
  const folders = Array.from({ length: 60 }, (_, at) => `d${at}`);
  const options = Array.from({ length: 400 }, (_, at) => `-${'abcdefgh'.repeat(20)}${at}`);
  const long = 'x/'.repeat(5000);
  const server = { command: 'go', args: ['run', ...folders, folders.join(':'), ...options, long] };
  const { files } = await findServerScripts([server], cwd);
  expect(files).toEqual(['']);
});

const evil = 'console.log("EVIL")';
const replaced: readonly (readonly [args: string, script: string, later: Files])[] = [
  ['tools/server.js', 'tools/server.js', { 'package.json': '{"main":"evil.js"}', 'evil.js': evil }],
  ['tools/server', 'tools/server.js', { 'package.json': '{"main":"evil.js"}', 'evil.js': evil }],
  ['./tools/server', 'tools/server.js', { 'package.json': '{"main":"l"}', 'l/index.js': evil }],
  ['tools/server', 'tools/server.js', { 'package.json': '\ufeff{"main":"l"}', 'l.js': evil }],
  ['tools/server', 'tools/server.js', { 'evil.wasm': evil }],
];
type Files = Readonly<Record<string, string>>;

test.each(replaced)(
  '18.1712: attack: for node %s, a folder replaces the trusted script %s: %j',
  async (arg, script, later) => {
    const mcpServers = { s: { command: 'node', args: [arg] } };
    const { cwd, env, config } = homeAndProject({
      'project/millrace.json': JSON.stringify({ mcpServers }),
      [`project/${script}`]: '',
      'project/sub/a.txt': '',
    });
    const isStarted = async (trust = false, at = cwd) =>
      (await loadConfig({ args: { trust }, env, cwd: at })).mcpServers.length === 1;
    expect(await isStarted()).toBe(false);
    expect(await isStarted(true)).toBe(true);
    expect(await isStarted()).toBe(true);
    expect(await isStarted(false, join(cwd, 'sub'))).toBe(true);
    expect(await isStarted()).toBe(true);
    rmSync(join(cwd, script));
    for (const [path, text] of Object.entries(later)) {
      const file = join(cwd, arg, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    const { mcpServers: started, untrusted } = await loadConfig({ args: {}, env, cwd });
    expect([started, untrusted?.removedScripts]).toEqual([[], [script]]);
    const stored = readFileSync(config.foldersFile, 'utf8');
    expect(await isStarted()).toBe(false);
    expect(readFileSync(config.foldersFile, 'utf8')).toBe(stored);
    expect(await isStarted(true)).toBe(true);
    expect(await isStarted()).toBe(true);
  },
);

test.each([
  ['package.json', 'node', 'tools'],
  ['lib/start.js', 'node', 'tools'],
  ['package.json', 'npx', './tools'],
])(
  '18.1713: attack: a server is a folder, and its %s changes: %s %s',
  async (path, command, arg) => {
    const mcpServers = { s: { command, args: [arg] } };
    const { cwd, env } = homeAndProject({
      'project/millrace.json': JSON.stringify({ mcpServers }),
      'project/tools/package.json': '{"main":"lib/start"}',
      'project/tools/lib/start.js': '',
      'project/tools/evil.js': evil,
    });
    await loadConfig({ args: { trust: true }, env, cwd });
    writeFileSync(join(cwd, 'tools/other.js'), '');
    expect((await loadConfig({ args: {}, env, cwd })).mcpServers).toHaveLength(1);
    writeFileSync(join(cwd, 'tools', path), '{"main":"evil.js"}');
    expect((await loadConfig({ args: {}, env, cwd })).mcpServers).toEqual([]);
  },
);

const launched: readonly (readonly [line: string, before: Files, later: Files])[] = [
  ['uv run -m tools.server', { 'tools/server.py': '' }, { 'tools/server/__main__.py': evil }],
  ['uv run -m tools.server', { 'tools/server.py': '' }, { 'tools/server/__init__.py': evil }],
  ['uv run -m tools.server', { 'tools/server.py': '' }, { 'tools/__init__.py': evil }],
  ['python3 -m tools.server', { 'tools/server.py': '' }, { 'tools.py': evil }],
  [
    'python3 -m a.b.server',
    { 'a/b/server.py': '', 'a/b/__init__.py': '' },
    { 'a/b/__init__.py': evil },
  ],
  ['uv run -m tools', { 'tools/__main__.py': '' }, { 'tools/__main__.py': evil }],
  ['uv run tools', { 'tools/__main__.py': '' }, { 'tools/__main__.py': evil }],
  ['uv run --with mcp .', { '__main__.py': '' }, { '__main__.py': evil }],
  ['pypy3 -m tools.server', { 'tools/server.py': '' }, { 'tools/server/__main__.py': evil }],
  ['pypy3 tools', { 'tools/__main__.pyc': '' }, { 'tools/__main__.pyc': evil }],
  ['coverage run -m tools', { 'tools/__main__.py': '' }, { 'tools/__main__.py': evil }],
  ['uvicorn tools.server:app', { 'tools/server.py': '' }, { 'tools/server/__init__.py': evil }],
  [
    'nodejs js',
    { 'js/index.js': '' },
    { 'js/package.json': '{"main":"evil.js"}', 'js/evil.js': evil },
  ],
  ['nodejs js', { 'js/index.js': '' }, { 'js/index.js': evil }],
  ['esno js', { 'js/index.ts': '' }, { 'js/index.ts': evil }],
  ['esno js', { 'js/m.js': '', 'js/package.json': '{"main":"m"}' }, { 'js/m.js': evil }],
  [
    'esno js',
    { 'js/m.js': '', 'js/package.json': '{"main":"m"}' },
    { 'js/package.json': '{"main":"n"}', 'js/n.js': evil },
  ],
  ['pnpm dlx .', { 'm.js': '', 'package.json': '{"bin":"m.js"}' }, { 'm.js': evil }],
  ['nub .', { 'm.js': '', 'package.json': '{"main":"m.js"}' }, { 'm.js': evil }],
  ['pnpm dlx ./js', { 'js/m.js': '', 'js/package.json': '{"bin":"m.js"}' }, { 'js/m.js': evil }],
  [
    'unknown start js',
    { 'js/m.js': '', 'js/package.json': '{"bin":{"x":"m.js"}}' },
    { 'js/m.js': evil },
  ],
];

test.each(launched)(
  '18.1791: attack: the script of the trusted server %j with %j is replaced by %j',
  async (line, before, later) => {
    const [command = '', ...args] = line.split(' ');
    const { cwd, env } = homeAndProject({
      'project/millrace.json': JSON.stringify({ mcpServers: { s: { command, args } } }),
      ...Object.fromEntries(
        Object.entries(before).map(([path, text]) => [`project/${path}`, text]),
      ),
    });
    await loadConfig({ args: { trust: true }, env, cwd });
    const { mcpServers, serverFiles } = await loadConfig({ args: {}, env, cwd });
    expect(mcpServers).toHaveLength(1);
    const written = Object.keys(later).map((path) => join(cwd, path));
    // A call needs an approval to change the script. A manifest can change, but it then names an untrusted script.
    if (!('js/n.js' in later)) expect(serverFiles).toEqual(expect.arrayContaining([written[0]]));
    for (const [index, path] of written.entries()) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, Object.values(later)[index] ?? '');
    }
    expect((await loadConfig({ args: {}, env, cwd })).mcpServers).toEqual([]);
  },
);

test.each([
  'npx -y @modelcontextprotocol/server-filesystem .',
  'npx -y @modelcontextprotocol/server-filesystem ./',
  'uvx mcp-server-git --repository .',
  'npx -y @modelcontextprotocol/server-filesystem ./app',
  'docker run -v ./app:/data image',
])('the server %j starts after a change of its data, the package.json included', async (line) => {
  const [command = '', ...args] = line.split(' ');
  const { cwd, env } = homeAndProject({
    'project/millrace.json': JSON.stringify({ mcpServers: { s: { command, args } } }),
    ...{
      'project/package.json': '{"main":"lib/m.js"}',
      'project/lib/m.js': '',
      'project/index.js': '',
    },
    ...{
      'project/app/package.json': '{"main":"m.js"}',
      'project/app/m.js': '',
      'project/app/a.py': '',
    },
  });
  await loadConfig({ args: { trust: true }, env, cwd });
  const changed = [
    'package.json',
    'lib/m.js',
    'index.js',
    'app/package.json',
    'app/a.py',
    'app/b.js',
  ];
  for (const path of changed) {
    const main = path.startsWith('app') ? 'm.js' : 'lib/m.js';
    writeFileSync(join(cwd, path), JSON.stringify({ main, dependencies: { x: '1' } }));
    expect([path, (await loadConfig({ args: {}, env, cwd })).mcpServers.length]).toEqual([path, 1]);
  }
});

test('a hook that only changes to a folder does not depend on its package.json', async () => {
  const command = 'cd "$CLAUDE_PROJECT_DIR" && node tools/check.js --strict';
  const place = homeAndProject({
    'project/.claude/settings.json': hookSettings('Stop', command),
    'project/tools/check.js': '',
    'project/package.json': '{"main":"dist/index.js"}',
  });
  await loadExtensions({ ...place, trust: true });
  mkdirSync(join(place.cwd, 'dist'));
  writeFileSync(join(place.cwd, 'dist/index.js'), '');
  writeFileSync(join(place.cwd, 'package.json'), '{"version":"2.0.0"}');
  expect((await loadExtensions(place)).untrusted).toBeUndefined();
  writeFileSync(join(place.cwd, 'tools/check.js'), evil);
  expect((await loadExtensions(place)).untrusted).toBeDefined();
});
