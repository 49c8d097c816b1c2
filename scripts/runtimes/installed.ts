// Finds the runtimes that `npm run test:setup` installs into this folder.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isRequirementMissing } from '../../packages/log/src/testing/external-programs.ts';

const modules = join(import.meta.dirname, 'node_modules');
const { platform, arch } = process;
const bunArch = arch === 'arm64' ? 'aarch64' : arch;
const denoLibc = platform === 'linux' ? '-glibc' : '';

/** The paths of the programs, by runtime name. Some runtimes do not exist for every system. */
const programs = {
  bun: `@oven/bun-${platform}-${bunArch}/bin/bun`,
  deno: `@deno/${platform}-${arch}${denoLibc}/deno`,
  'node 22': `node-22-${platform}-${arch}/bin/node`,
  'node 26': `node-26-${platform}-${arch}/bin/node`,
  'typescript 5.0': 'typescript-5.0/bin/tsc',
  miniflare: 'miniflare/package.json',
} as const;

export type RuntimeName = keyof typeof programs;

/** Returns the path of the runtime's program. */
export function programOf(name: RuntimeName): string {
  return join(modules, programs[name]);
}

/**
 * Returns true if the tests of this runtime must be skipped. With MILLRACE_REQUIRE_ALL=1, it throws
 * instead of returning true.
 */
export function isRuntimeMissing(name: RuntimeName): boolean {
  const missing = `${name} is not installed for this test. Run npm run test:setup`;
  return isRequirementMissing(existsSync(programOf(name)), missing);
}

/** The part of Miniflare's API that the tests use. */
export interface Miniflare {
  readonly ready: Promise<URL>;
  dispatchFetch(url: string, init?: RequestInit): Promise<Response>;
  dispose(): Promise<void>;
}

export interface MiniflareOptions {
  readonly modules: readonly {
    readonly type: 'ESModule';
    readonly path: string;
    readonly contents: string;
  }[];
  readonly compatibilityDate: string;
  readonly durableObjects?: Readonly<
    Record<string, { readonly className: string; readonly useSQLite: true }>
  >;
  readonly durableObjectsPersist?: string;
}

/** Starts workerd, the runtime of Cloudflare Workers. */
export async function startMiniflare(options: MiniflareOptions): Promise<Miniflare> {
  const path = createRequire(join(import.meta.dirname, 'package.json')).resolve('miniflare');
  const found = (await import(pathToFileURL(path).href)) as {
    readonly Miniflare: new (options: MiniflareOptions) => Miniflare;
  };
  const miniflare = new found.Miniflare(options);
  await miniflare.ready;
  return miniflare;
}
