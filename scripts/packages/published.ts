import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url));

/** Version ranges, by package name. */
type Ranges = Readonly<Record<string, string>>;

/** The fields of a package.json that the package checks read. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: string;
  readonly repository?: {
    readonly type: string;
    readonly url: string;
    readonly directory: string;
  };
  readonly license?: string;
  readonly files?: readonly string[];
  readonly engines?: { readonly node?: string };
  readonly publishConfig?: { readonly access?: string; readonly provenance?: boolean };
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Ranges;
  readonly devDependencies?: Ranges;
  readonly peerDependencies?: Ranges;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** A package of this repository that is published to npm. */
export interface PublishedPackage {
  /** The folder, relative to the root of the repository. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Returns the published packages. Each package comes after the packages that it depends on. */
export function publishedPackages(repository: string = root): readonly PublishedPackage[] {
  const found = globSync('{packages,apps}/*/package.json', { cwd: repository })
    .sort()
    .map((path) => ({ folder: dirname(path), manifest: readManifest(join(repository, path)) }))
    .filter(({ manifest }) => manifest.private !== true);
  const sorted: PublishedPackage[] = [];
  const add = (one: PublishedPackage) => {
    if (sorted.includes(one)) return;
    const { dependencies, peerDependencies } = one.manifest;
    const needed = Object.keys({ ...dependencies, ...peerDependencies });
    for (const other of found) if (needed.includes(other.manifest.name)) add(other);
    sorted.push(one);
  };
  for (const one of found) add(one);
  return sorted;
}

/** Reads a package.json. */
export function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}
