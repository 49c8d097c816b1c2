import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homeAndProject } from '../testing/test-agent.ts';
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
