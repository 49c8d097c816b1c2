import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../command/run-command.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

const folder = temporaryFolder('package-plugins');

/** Starts a registry with one package, whose scripts leave a file behind. */
async function startRegistry(ran: string) {
  const source = join(folder(), 'package');
  mkdirSync(join(source, 'skills/orders'), { recursive: true });
  writeFileSync(join(source, 'skills/orders/SKILL.md'), 'Look at the order.');
  const names = ['preinstall', 'install', 'postinstall', 'prepare', 'prepack', 'postpack'];
  const scripts = Object.fromEntries(names.map((name) => [name, `touch ${ran}`]));
  const manifest = { name: '@acme/orders', version: '1.0.0', scripts };
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest));
  execFileSync('tar', ['-czf', join(folder(), 'package.tgz'), '-C', folder(), 'package']);
  const bytes = readFileSync(join(folder(), 'package.tgz'));
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const server = createServer((request, response) => {
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
  return { url: `http://127.0.0.1:${port}/`, integrity };
}

test('18.248: attack: a package of npm runs its scripts when it is added as a plugin', async () => {
  const ran = join(folder(), 'ran');
  const { url, integrity } = await startRegistry(ran);
  const home = join(folder(), 'home');
  mkdirSync(home);
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await runCommand({
    ...{ argv: ['plugins', 'add', '@acme/orders', '--yes'], cwd: home, stdout, stderr },
    env: { HOME: home, PATH: process.env['PATH'], npm_config_registry: url },
    ...{ stdin: Readable.from([]), signal: new AbortController().signal },
  });
  expect([code, stderr.text]).toEqual([0, '']);
  expect(stdout.text).toBe('Added the plugin acme-orders, with 1 file.\n');
  expect(existsSync(ran)).toBe(false);
  const stored = readFileSync(join(home, '.config/millrace/plugins.json'), 'utf8');
  expect(JSON.parse(stored)).toEqual({
    'acme-orders': { source: '@acme/orders', digest: expect.any(String), integrity },
  });
});
