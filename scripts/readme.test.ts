import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const readme = readFileSync('README.md', 'utf8');

test('README.md mentions only npm scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const commands = readme.matchAll(/(?<=`|&& |^)npm (?:run )?([a-z]+)/gm);
  const ofNpm = ['ci', 'install'];
  const unknown = [...commands].filter(
    ([, name = '']) => !ofNpm.includes(name) && !(name in scripts),
  );
  expect(unknown).toEqual([]);
});

test('every relative link in a document has a target', () => {
  const documents = globSync('**/*.md', {
    exclude: ['**/node_modules/**', '**/dist/**', '.changeset/**'],
  });
  const broken = documents.flatMap((path) => {
    const links = readFileSync(path, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g);
    return [...links]
      .map(([, target = '']) => join(dirname(path), target))
      .filter((target) => !existsSync(target))
      .map((target) => `${path}: ${target}`);
  });
  expect(broken).toEqual([]);
});

test('every file and folder that ARCHITECTURE.md names exists', () => {
  const exclude = ['**/node_modules/**', '**/dist/**', '**/bundle/**'];
  const paths = globSync('{apps,packages,scripts,docs,decisions,clients}/**', { exclude });
  const known = new Set(paths.map((path) => `/${path}`));
  // A row of the table can name a file by the end of its path, after a folder was named.
  const ends = new Set(
    [...known].flatMap((path) => path.split('/').map((_, at, all) => all.slice(at).join('/'))),
  );
  const named = readFileSync('ARCHITECTURE.md', 'utf8').matchAll(/`([\w./-]+?)\/?`/g);
  const isPath = (text: string) => /^[\w.-]+\/[\w./-]+$|\.(?:tsx?|css|md)$/.test(text);
  const missing = [...named]
    .map(([, text = '']) => text)
    .filter((text) => isPath(text) && !ends.has(text));
  expect(missing.filter((text) => !existsSync(text))).toEqual([]);
});

test('documented commands use npx node, which is the version of the project', () => {
  const texts = globSync(
    '{*.md,docs/**/*.{md,yaml},{packages,apps}/*/README.md,examples/**/*.ts}',
    {
      exclude: ['**/node_modules/**', '**/.next/**'],
    },
  );
  const typed = /(?:^|^\/\/ {3}|`)(?:[A-Z]+=\S+ )*node [-…].*$/gm;
  const found = (path: string) => [...readFileSync(path, 'utf8').matchAll(typed)];
  expect(texts.flatMap(found).map(([line]) => line)).toEqual([]);
});

test('00-fold-live works without a terminal, and lists the examples for an unknown name', () => {
  const example = ['--conditions=@millrace/source', 'examples/00-fold-live.ts'];
  const printed = execFileSync(process.execPath, example, { encoding: 'utf8' });
  expect(printed).toContain('tool_call_ready');
  expect(printed).toContain('"text": "fn main() {}"');
  const wrong = () => execFileSync(process.execPath, [...example, 'nonsense'], { stdio: 'pipe' });
  expect(wrong).toThrow('There is no example “nonsense” in PROTOCOL.md. There are:\n  text');
});
