import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The name of the notices file. It is next to the bundled files. */
export const noticeFile = 'THIRD-PARTY.txt';

/** A package whose code is part of a bundle. */
export interface ThirdPartyPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

const ruler = '='.repeat(72);

/**
 * Returns the notices for all packages of a bundle. A notice has the name, the version, the license
 * and its text, as most licenses require. `modules` are the paths of the bundled files.
 */
export function thirdPartyNotices(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((path) => packageFolder(path) ?? []));
  // If a version is installed in two places, it gets only one notice.
  const notices = new Set([...[...folders].map(noticeOf), ...dataNotices(modules)]);
  return `${[...notices].sort().join('\n')}${ruler}\n`;
}

/** Returns the notices for third-party data in packages of this repository. */
function dataNotices(modules: readonly string[]): readonly string[] {
  const folders = modules.flatMap((path) => /^.*\/packages\/[^/]+(?=\/)/.exec(path)?.[0] ?? []);
  const files = [...new Set(folders)].map((folder) => join(folder, noticeFile));
  return files
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8').replace(new RegExp(`\n${ruler}\n$`), '\n'));
}

/** Returns the packages in a notices file. */
export function packagesInNotices(text: string): readonly ThirdPartyPackage[] {
  const header = new RegExp(`^${ruler}\n(\\S+) (\\S+) \\((.+)\\)$`, 'gm');
  return [...text.matchAll(header)].map(([, name = '', version = '', license = '']) => ({
    name,
    version,
    license,
  }));
}

/**
 * Returns the folder of the package to which a module belongs. Returns undefined for modules of
 * this repository.
 */
function packageFolder(module: string): string | undefined {
  // Bundlers mark virtual modules with a NUL character, and may add a query to the path.
  const path = module.replace(/^\0/, '').replace(/\?.*$/s, '');
  if (!path.includes('/node_modules/')) return undefined;
  let folder = dirname(path);
  while (!isPackage(folder)) folder = dirname(folder);
  return folder;
}

/**
 * Returns true if a folder is a package. Some folders inside a package also have a package.json,
 * but without a version.
 */
function isPackage(folder: string): boolean {
  const manifest = join(folder, 'package.json');
  return existsSync(manifest) && readFileSync(manifest, 'utf8').includes('"version"');
}

function noticeOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const { name, version, license } = manifest;
  return `${ruler}\n${name} ${version} (${license})\n\n${licenceText(folder, manifest)}\n`;
}

interface Manifest extends ThirdPartyPackage {
  readonly author?: string | { readonly name: string };
}

/**
 * Returns the license files of a package, or the license section of its README. A package that has
 * neither must have the MIT license, whose text is known.
 */
function licenceText(folder: string, { name, license, author }: Manifest): string {
  const files = readdirSync(folder).sort();
  const textsOf = (pattern: RegExp) =>
    files
      .filter((file) => pattern.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const own = textsOf(/^(?:licen[cs]e|copying|notice)\b/i);
  if (own.length > 0) return own.join('\n\n');
  const sections = textsOf(/^readme\b/i).flatMap(
    (text) => /^#+ licen[cs]e[\s\S]*permission[\s\S]*$/im.exec(text) ?? [],
  );
  if (sections.length > 0) return sections.join('\n\n');
  if (license !== 'MIT') {
    throw new Error(
      `${name} (${license}) contains no licence text: add it to scripts/third-party.ts`,
    );
  }
  const holder = typeof author === 'object' ? author.name : (author ?? `the authors of ${name}`);
  const ours = readFileSync(new URL('../LICENSE', import.meta.url), 'utf8').trim();
  return ours.replace(/^Copyright .*$/m, `Copyright (c) ${holder}`);
}
