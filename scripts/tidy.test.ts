import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Lowest first. A package imports only packages in rows above its own. */
const layers: readonly (readonly string[])[] = [
  ['@millrace/core'],
  ['@millrace/providers', '@millrace/log'],
  ['@millrace/agent'],
  ['@millrace/tools', '@millrace/server', '@millrace/client'],
  ['@millrace/temporal'],
  ['@millrace/openai-agents'],
  ['millrace', '@millrace/web'],
];

/** These also run where Node is not. */
const withoutNode: readonly string[] = ['@millrace/core', '@millrace/client'];

const lengthOf = { median: 90, ninetyFifth: 300, longest: 500 };

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const packages = globSync('{packages,apps}/*/package.json').map((path) => ({
  folder: dirname(path),
  manifest: JSON.parse(readFileSync(path, 'utf8')) as Manifest,
}));

const isTest = (path: string) => /\.test\.tsx?$/.test(path) || path.includes('/testing/');
const sourcesIn = (folder: string) =>
  globSync(`${folder}/**/*.{ts,tsx}`, { exclude: ['**/node_modules/**', '**/dist/**'] });
const sources = sourcesIn('{packages,apps}').filter((path) => !isTest(path));

const rowOf = (name: string) => layers.findIndex((row) => row.includes(name));

/** What a source imports, by the names it writes. */
function importsOf(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  const form = /(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g;
  return [...text.matchAll(form)].map(([, name = '']) => name);
}

describe.each(packages)('$manifest.name', ({ folder, manifest }) => {
  const { name, dependencies = {}, peerDependencies = {} } = manifest;
  const own = sourcesIn(`${folder}/src`).filter((path) => !isTest(path));
  const imported = own.flatMap((path) => importsOf(path).map((target) => `${path}: ${target}`));

  test('is in the table of layers', () => {
    expect(rowOf(name)).toBeGreaterThanOrEqual(0);
  });

  test('imports only packages of lower layers', () => {
    const known = [...Object.keys({ ...dependencies, ...peerDependencies }), ...imported]
      .map((entry) => entry.replace(/^.*: /, ''))
      .flatMap((target) => target.match(/^@millrace\/[^/]+/) ?? []);
    expect(known.filter((target) => rowOf(target) >= rowOf(name))).toEqual([]);
  });

  if (withoutNode.includes(name)) {
    test('imports nothing from Node', () => {
      const isBuiltIn = (entry: string) => isBuiltin(entry.replace(/^.*: /, ''));
      expect(imported.filter(isBuiltIn)).toEqual([]);
    });
  }

  if (name === '@millrace/core') {
    test('has no dependency and imports only its own files', () => {
      expect({ ...dependencies, ...peerDependencies }).toEqual({});
      expect(imported.filter((entry) => !/: \.{1,2}\//.test(entry))).toEqual([]);
    });
  }
});

describe('source files', () => {
  const sizes = sources
    .map((path) => ({ path, lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines);
  const at = (share: number) => sizes[Math.floor((sizes.length - 1) * share)]?.lines;

  test('are short', () => {
    expect(at(0.5)).toBeLessThanOrEqual(lengthOf.median);
    expect(at(0.95)).toBeLessThanOrEqual(lengthOf.ninetyFifth);
    expect(sizes.filter(({ lines }) => lines > lengthOf.longest)).toEqual([]);
  });

  test('are not named after nothing', () => {
    const empty = /^(utils?|helpers?|common|misc|types)\.tsx?$/;
    expect(sources.filter((path) => empty.test(basename(path)))).toEqual([]);
  });
});

test('nothing that is committed names a registry host or a folder of one machine', () => {
  const texts = globSync('**/*.{md,json,ts,tsx,yml}', {
    exclude: ['**/node_modules/**', '**/dist/**', 'scripts/tidy.test.ts'],
  });
  const foreign = /registry\.npmjs|registry\.yarnpkg|\/(?:home|root|work|Users)\/\w/;
  expect(texts.filter((path) => foreign.test(readFileSync(path, 'utf8')))).toEqual([]);
});
