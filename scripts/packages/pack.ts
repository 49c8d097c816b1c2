import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Manifest, publishedPackages, readManifest, root } from './published.ts';
import { runProgram } from './run-program.ts';

/** A packed package, ready to be published. */
export interface PackedPackage {
  readonly manifest: Manifest;
  /** The path of the .tgz file. */
  readonly tarball: string;
  /** The folder with the unpacked files of the .tgz file. */
  readonly content: string;
}

/**
 * Builds and packs all published packages in a copy of the repository. So a package contains no
 * files of an earlier build and no ignored files. The repository itself does not change.
 */
export async function packAll(folder: string): Promise<readonly PackedPackage[]> {
  const copy = join(folder, 'repository');
  await copyRepository(copy);
  const packed: PackedPackage[] = [];
  for (const { folder: own } of publishedPackages(copy)) {
    const target = join(folder, 'packed', basename(own));
    mkdirSync(target, { recursive: true });
    const pack = ['pack', '--json', '--pack-destination', target];
    await runProgram('npm', pack, { cwd: join(copy, own) });
    const [file = ''] = readdirSync(target);
    const tarball = join(target, file);
    await runProgram('tar', ['-xzf', tarball], { cwd: target });
    const content = join(target, 'package');
    packed.push({ manifest: readManifest(join(content, 'package.json')), tarball, content });
  }
  return packed;
}

/** Copies the files that git tracks or would add, and links the installed packages. */
async function copyRepository(copy: string): Promise<void> {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const { stdout } = await runProgram('git', list, { cwd: root });
  const files = stdout.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
  for (const path of files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    copyFileSync(join(root, path), join(copy, path));
  }
  linkModules(root, copy);
  for (const path of globSync('{packages,apps}/*/node_modules', { cwd: root })) {
    if (existsSync(join(copy, dirname(path))))
      linkModules(dirname(join(root, path)), dirname(join(copy, path)));
  }
}

/**
 * Links each installed package. Packages of the workspace are linked to their folder in the copy.
 */
function linkModules(from: string, to: string): void {
  const source = join(from, 'node_modules');
  const target = join(to, 'node_modules');
  mkdirSync(target);
  for (const name of readdirSync(source)) {
    if (name !== '@millrace' && name !== 'millrace' && name !== '.cache')
      symlinkSync(join(source, name), join(target, name));
  }
  if (from !== root) return;
  mkdirSync(join(target, '@millrace'));
  for (const path of globSync('{packages,apps}/*/package.json', { cwd: to })) {
    const { name } = readManifest(join(to, path));
    symlinkSync(dirname(join(to, path)), join(target, name));
  }
}

/** Files that npm always adds to a package. */
const always = ['package.json', 'README.md', 'LICENSE'];

/** Matches paths that must not be in a package. */
const stray =
  /\.(?:test|attack)\.|(?:^|\/)(?:testing|e2e|fixtures|node_modules|__\w+__)\/|\.tsbuildinfo$|(?:^|\/)(?:tsconfig[^/]*|\.[^/]*)$|~$|\.(?:orig|rej|log|tgz|local)$/;

/** Returns the problems with the files of a packed package. */
export function faultsOf({
  manifest,
  content,
}: Pick<PackedPackage, 'manifest' | 'content'>): readonly string[] {
  const files = globSync('**', { cwd: content, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(content.length + 1));
  const listed = (path: string) =>
    manifest.files?.some((one) => path === one || path.startsWith(`${one}/`)) === true;
  const dependencies = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies });
  return [
    ...always.filter((path) => !files.includes(path)).map((path) => `${path} is missing`),
    ...files
      .filter((path) => stray.test(path) || !(listed(path) || always.includes(path)))
      .map((path) => `${path} does not belong into a package`),
    ...files.flatMap((path) => mapFaults(content, path)),
    ...files.filter((path) => isStale(path, files)).map((path) => `${path} has no source`),
    ...dependencies
      .filter(([, range]) => /^(?:file|link|workspace|git|https?):/.test(range))
      .map(([name, range]) => `the dependency ${name} is ${range}`),
  ];
}

/**
 * Returns the problems with the source map of a file. The package must contain the source map and
 * the sources that it names.
 */
function mapFaults(content: string, path: string): readonly string[] {
  const folder = dirname(join(content, path));
  if (/\.[cm]?js$|\.d\.ts$|\.css$/.test(path)) {
    const text = readFileSync(join(content, path), 'utf8').trimEnd();
    const [, map] = /\n\/[/*]# sourceMappingURL=(\S+?)(?:\s*\*\/)?$/.exec(text) ?? [];
    const isMissing =
      map !== undefined && !map.startsWith('data:') && !existsSync(join(folder, map));
    return isMissing ? [`${path} names the source map ${map}, which is missing`] : [];
  }
  if (!path.endsWith('.map')) return [];
  const { sources, sourcesContent } = JSON.parse(readFileSync(join(content, path), 'utf8')) as {
    readonly sources: readonly string[];
    readonly sourcesContent?: readonly (string | null)[];
  };
  return sources
    .filter((source, index) => !sourcesContent?.[index] && !existsSync(join(folder, source)))
    .map((source) => `${path} names the source ${source}, which is missing`);
}

/**
 * Returns true if a file comes from an earlier build, and its source was renamed or deleted since.
 */
function isStale(path: string, files: readonly string[]): boolean {
  const [, stem] = /^dist\/(.+?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(path) ?? [];
  return stem !== undefined && !['ts', 'tsx'].some((end) => files.includes(`src/${stem}.${end}`));
}
