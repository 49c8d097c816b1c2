import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import type { PackedPackage } from './pack.ts';

/** A registry on this machine. It contains our packages before they are published. */
export interface LocalRegistry {
  /** Environment variables that make npm read our packages from this registry. */
  readonly env: Readonly<Record<string, string>>;
  close(): void;
}

/** Starts a registry for packed packages. npm reads all other packages from its usual registry. */
export async function startRegistry(packages: readonly PackedPackage[]): Promise<LocalRegistry> {
  const answers = new Map<string, () => string | Buffer>();
  const server = createServer((request, response) => {
    const answer = answers.get(decodeURIComponent(request.url ?? ''));
    response.statusCode = answer === undefined ? 404 : 200;
    response.end(answer === undefined ? '{}' : answer());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const { manifest, tarball } of packages) {
    const { name, version } = manifest;
    const bytes = readFileSync(tarball);
    const path = `/tarballs/${basename(tarball)}`;
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const dist = { tarball: `${url}${path}`, integrity };
    const versions = { [version]: { ...manifest, dist } };
    answers.set(path, () => bytes);
    answers.set(`/${name}`, () =>
      JSON.stringify({ name, 'dist-tags': { latest: version }, versions }),
    );
  }
  return { env: { 'npm_config_@millrace:registry': `${url}/` }, close: () => server.close() };
}
