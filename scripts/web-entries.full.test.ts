import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readNodeImports } from './runtimes/bundle-for-web.ts';

/** The entries that need Node. All other entries run in browsers and at the edge. */
const needNode: Readonly<Record<string, readonly string[]>> = {
  core: [],
  markdown: [],
  providers: ['./scripted-server'],
  log: ['./sqlite', './postgres', './redis', './query'],
  agent: ['./testing'],
  client: [],
};

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly '@millrace/source'?: string } | string>>;
}

const root = join(import.meta.dirname, '..');

const entries = Object.entries(needNode).flatMap(([name, excluded]) => {
  const folder = join(root, 'packages', name);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const source = typeof target === 'string' ? undefined : target['@millrace/source'];
    if (source === undefined || excluded.includes(subpath)) return [];
    return [{ entry: join(`@millrace/${name}`, subpath), path: join(folder, source) }];
  });
});

const nodeImports = await readNodeImports(entries.map(({ path }) => path));

describe('20.02: packages for browsers and the edge', () => {
  test.each(entries)('$entry imports nothing from Node', ({ path }) => {
    const chains = nodeImports(path).map(({ module, chain }) => [...chain, module].join('\n  → '));
    expect(chains, 'Move the import to an entry that needs Node.').toEqual([]);
  });

  test('use no global of Node', () => {
    // This compiler setup knows only the web platform. So it rejects process, Buffer, setImmediate
    // and timer.unref().
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')));
    const project = join(root, 'scripts/runtimes/tsconfig.web.json');
    const named = JSON.parse(readFileSync(project, 'utf8')) as { readonly files: string[] };
    const listed = named.files.map((file) => join(dirname(project), file));
    expect(listed.sort()).toEqual(entries.map(({ path }) => path).sort());
    const run = () =>
      execFileSync(process.execPath, [join(tsc, 'bin/tsc'), '-p', project], { encoding: 'utf8' });
    expect(outputOf(run)).toBe('');
  });
});

function outputOf(run: () => string): string {
  try {
    return run();
  } catch (error) {
    return (error as { readonly stdout?: string }).stdout || String(error);
  }
}
