import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Manifest, readManifest, root } from './published.ts';

/** The folder of the umbrella package, relative to the root of the repository. */
const umbrellaFolder = 'packages/millrace';

/**
 * The packages that `millrace` offers as subpaths. All other packages have large peer dependencies.
 */
const members = ['core', 'providers', 'log', 'agent', 'tools', 'server', 'client'];

/**
 * Returns the generated files of the package `millrace`. These are one file per subpath, and
 * package.json with exports, dependencies and optional peer dependencies.
 */
export function umbrellaFiles(): ReadonlyMap<string, string> {
  const manifests = members.map((name) =>
    readManifest(join(root, `packages/${name}/package.json`)),
  );
  const subpaths = manifests.flatMap(subpathsOf);
  const files = subpaths.map(({ path, target }) => [
    `${umbrellaFolder}/src/${path}/index.ts`,
    `export * from '${target}';\n`,
  ]);
  const manifest = umbrellaManifest(
    manifests,
    subpaths.map(({ path }) => path),
  );
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  return new Map([...files, [`${umbrellaFolder}/package.json`, text]] as [string, string][]);
}

/** Returns the files of the umbrella package that are wrong, missing or superfluous. */
export function outdatedUmbrellaFiles(): readonly string[] {
  const expected = umbrellaFiles();
  const wrong = [...expected].filter(([path, text]) => {
    const file = join(root, path);
    return !existsSync(file) || readFileSync(file, 'utf8') !== text;
  });
  const pattern = `${umbrellaFolder}/src/*/**/*.ts`;
  const superfluous = globSync(pattern, { cwd: root }).filter((path) => !expected.has(path));
  return [...wrong.map(([path]) => path), ...superfluous];
}

interface Subpath {
  /** The subpath of `millrace`, for example `providers/scripted`. */
  readonly path: string;
  /** The module that the subpath exports again, for example `@millrace/providers/scripted`. */
  readonly target: string;
}

function subpathsOf({ name, exports = {} }: Manifest): readonly Subpath[] {
  const short = name.replace('@millrace/', '');
  return Object.keys(exports)
    .filter((key) => key !== './package.json')
    .map((key) => ({ path: `${short}${key.slice(1)}`, target: `${name}${key.slice(1)}` }));
}

function umbrellaManifest(manifests: readonly Manifest[], paths: readonly string[]): Manifest {
  const own = readManifest(join(root, umbrellaFolder, 'package.json'));
  const entry = (path: string) => ({
    '@millrace/source': `./src/${path}index.ts`,
    types: `./dist/${path}index.d.ts`,
    default: `./dist/${path}index.js`,
  });
  const peers = Object.assign({}, ...manifests.map((one) => one.peerDependencies ?? {}));
  const sorted = Object.fromEntries(Object.entries(peers).sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    ...own,
    exports: {
      '.': entry(''),
      ...Object.fromEntries(paths.map((path) => [`./${path}`, entry(`${path}/`)])),
      './package.json': './package.json',
    },
    dependencies: Object.fromEntries(
      manifests.map(({ name, version }) => [name, `^${version}`] as const).sort(),
    ),
    // Some package managers isolate packages. With them, a package can import only the peers that
    // it declares.
    peerDependencies: sorted as Manifest['peerDependencies'] & object,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(sorted).map((name) => [name, { optional: true }]),
    ),
  };
}
