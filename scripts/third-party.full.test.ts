import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../apps/cli/src/testing/built-program.ts';
import { publishedPackages } from './packages/published.ts';
import { noticeFile, packagesInNotices } from './third-party.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-notices-'));
  const vite = ['build', 'apps/web', '--sourcemap', '--outDir', join(folder, 'page')];
  node('node_modules/vite/bin/vite.js', ...vite, '--emptyOutDir', '--logLevel', 'error');
});
afterAll(() => rmSync(folder, { recursive: true }));

function node(script: string, ...args: readonly string[]): string {
  const run = spawnSync(process.execPath, [script, ...args], { cwd: root, encoding: 'utf8' });
  expect(run, run.stderr).toMatchObject({ status: 0 });
  return run.stdout;
}

const folderOf = (name: string) =>
  name === 'bundle' ? dirname(builtProgram()) : join(folder, name);
const noticesIn = (name: string) => readFileSync(join(folderOf(name), noticeFile), 'utf8');

/** Licenses that allow us to distribute a copy if we include the license text. */
const permissive = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'OFL-1.1'];

test.for(['bundle', 'page'])('the %s has a notice with a text for each package', (name) => {
  const text = noticesIn(name);
  const packages = packagesInNotices(text);
  expect(packages.map(({ name: own }) => own)).toContain('react');
  expect(packages.filter(({ license }) => !permissive.includes(license))).toEqual([]);
  const notices = text.split(/^={72}$/m).slice(1, -1);
  expect(notices).toHaveLength(packages.length);
  const withoutText = notices.filter(
    (one) => !/permission|permitted|license/i.test(one.split('\n').slice(2).join('\n')),
  );
  expect(withoutText).toEqual([]);
});

test('the page has a notice for every package in its source maps', () => {
  const maps = globSync('page/assets/*.map', { cwd: folder });
  const sources = maps.flatMap((map) => {
    const read: unknown = JSON.parse(readFileSync(join(folder, map), 'utf8'));
    return (read as { readonly sources: readonly string[] }).sources;
  });
  const inMaps = sources.flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  const inNotices = packagesInNotices(noticesIn('page')).map(({ name }) => name);
  expect(inMaps.length).toBeGreaterThan(0);
  expect(inMaps.filter((name) => !inNotices.includes(name))).toEqual([]);
});

test('the page has a notice for each of its fonts', () => {
  const fonts = globSync('page/assets/*.woff2', { cwd: folder });
  expect(fonts.some((path) => path.includes('hanken-grotesk'))).toBe(true);
  const inNotices = packagesInNotices(noticesIn('page'));
  const names = inNotices.filter(({ license }) => license === 'OFL-1.1').map(({ name }) => name);
  expect(names).toEqual(['@fontsource-variable/geist-mono', '@fontsource-variable/hanken-grotesk']);
});

test('the bill of materials lists runtime dependencies and bundled packages, and no others', () => {
  const file = join(folder, 'sbom.json');
  const shipped = ['bundle', 'page'].map(folderOf);
  node('scripts/sbom.ts', file, ...shipped);
  const { bomFormat, components } = JSON.parse(readFileSync(file, 'utf8'));
  expect(bomFormat).toBe('CycloneDX');
  const refs = (components as readonly { readonly 'bom-ref': string }[]).map(
    (one) => one['bom-ref'],
  );
  const bundled = ['bundle', 'page'].flatMap((name) => packagesInNotices(noticesIn(name)));
  expect(refs).toEqual(
    expect.arrayContaining(bundled.map(({ name, version }) => `${name}@${version}`)),
  );
  const ours = publishedPackages().map(({ manifest }) => manifest);
  expect(refs).toEqual(
    expect.arrayContaining(ours.map(({ name, version }) => `${name}@${version}`)),
  );
  expect(refs.filter((ref) => /^(?:vitest|typescript|@biomejs)/.test(ref))).toEqual([]);
});
