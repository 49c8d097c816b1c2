import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import {
  browse,
  startAuthorizationServer,
  startProtectedServer,
} from '../../../../packages/tools/src/testing/mcp/authorization-server.ts';
import { connectMcpServers } from '../agent/mcp-servers.ts';
import { runCommand } from '../command/run-command.ts';
import { loadConfig } from '../config/load-config.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { openBrowser } from './server-login.ts';

/** Starts a server with a login, and writes it into the configuration of a user. */
async function start() {
  const issuer = await startAuthorizationServer();
  const mcp = await startProtectedServer(issuer);
  onTestFinished(async () => {
    await mcp.close();
    await issuer.close();
  });
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-login-')));
  const [cwd, config] = [join(root, 'project'), join(root, 'home/.config/millrace')];
  mkdirSync(cwd);
  mkdirSync(config, { recursive: true });
  const servers = { tickets: { url: mcp.url }, local: { command: 'true' } };
  writeFileSync(join(config, 'config.json'), JSON.stringify({ mcpServers: servers }));
  const env = { HOME: join(root, 'home') };
  const run = async (...argv: readonly string[]) => {
    const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
    const signal = new AbortController().signal;
    const ended = runCommand({ argv, cwd, env, stdout, stderr, stdin: Readable.from([]), signal });
    return { stdout, stderr, ended };
  };
  return { issuer, cwd, env, run, folder: join(config, 'mcp-logins') };
}

test('24.4: millrace mcp login prints a page, stores a private login, and logout deletes it', async () => {
  const { run, folder, issuer } = await start();
  const login = await run('mcp', 'login', 'tickets');
  await expect.poll(() => login.stdout.text).toContain('/authorize?');
  const [, url = ''] = /^(http\S+)$/m.exec(login.stdout.text) ?? [];
  expect(login.stdout.text).toContain(`at ${new URL(issuer.issuer).host}`);
  await browse({ url });
  expect(await login.ended).toBe(0);
  expect(login.stdout.text).toContain('Logged in to tickets.');
  const [name = ''] = readdirSync(folder);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  const logout = await run('mcp', 'logout', 'tickets');
  expect(await logout.ended).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
});

test('24.4: millrace mcp login --device prints a code', async () => {
  const { run, issuer } = await start();
  issuer.deviceError = 'authorization_pending';
  const login = await run('mcp', 'login', 'tickets', '--device');
  await expect.poll(() => login.stdout.text).toContain('Enter the code ABCD-EFGH');
  issuer.deviceError = undefined;
  expect(await login.ended).toBe(0);
});

test.for([
  [['mcp', 'login'], 'needs the name'],
  [['mcp', 'log', 'x'], 'Actions: login, logout'],
  [['mcp', '--device'], 'Actions: login, logout'],
  [['mcp', 'login', 'other'], 'There is no MCP server other. The servers are: tickets, local'],
  [['mcp', 'login', 'local'], 'has no url'],
] as const)('%j is refused: %s', async ([argv, why]) => {
  const { run } = await start();
  const { ended, stderr } = await run(...argv);
  expect(await ended).toBe(2);
  expect(stderr.text).toContain(why);
});

test('24.4: a server of the configuration names its login, and connects after it', async () => {
  const { cwd, env } = await start();
  const { mcpServers } = await loadConfig({ args: {}, env, cwd });
  const servers = connectMcpServers(mcpServers.filter(({ name }) => name === 'tickets'));
  onTestFinished(() => servers.close());
  await servers.ready;
  expect(servers.list()).toEqual([{ name: 'tickets', state: 'needs_login', tools: 0 }]);
  expect(servers.current().problems).toEqual([
    'Cannot use MCP server tickets: it needs a login. Log in to it with /mcp login tickets, or millrace mcp login tickets. The server is skipped.',
  ]);
  await servers.login('tickets', browse);
  expect(servers.list()).toMatchObject([{ name: 'tickets', state: 'connected' }]);
  await servers.logout('tickets');
  expect(servers.list()).toMatchObject([{ name: 'tickets', state: 'needs_login' }]);
});

test.skipIf(process.platform !== 'linux')(
  'attack 18.333: the browser is not a program of the project, and opens only web pages',
  async () => {
    const { cwd, env } = await start();
    const bin = join(env.HOME, 'bin');
    const opened = join(env.HOME, 'opened');
    mkdirSync(bin);
    for (const [folder, mark] of [
      [bin, 'user'],
      [cwd, 'project'],
    ] as const) {
      const program = join(folder, 'xdg-open');
      writeFileSync(program, `#!/bin/sh\necho "${mark} $*" >> "${opened}"\n`);
      chmodSync(program, 0o755);
    }
    const shown = { ...env, DISPLAY: ':0', PATH: `${cwd}:.:${bin}:/usr/bin:/bin` };
    await openBrowser('file:///etc/passwd', shown, cwd);
    await openBrowser('https://example.com/a?b=$(touch x)&c=1', shown, cwd);
    await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBeTruthy();
    expect(readFileSync(opened, 'utf8')).toBe('user https://example.com/a?b=$(touch x)&c=1\n');
  },
);
