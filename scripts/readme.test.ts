import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const readme = readFileSync('README.md', 'utf8');

const snippetsOf = (document: string) =>
  [...document.matchAll(/```ts\n([\s\S]*?)\n```(?:\n\nIt prints:\n\n```\n([\s\S]*?)```)?/g)].map(
    ([, code = '', printed]) => ({ code, printed, name: code.split('\n')[0] ?? '' }),
  );

const snippets = snippetsOf(readme);

/** Runs a TypeScript snippet from the root of the repository. */
function run(code: string): string {
  const flags = ['--conditions=@millrace/source', '--input-type=module-typescript', '--eval'];
  return execFileSync(process.execPath, [...flags, code], { encoding: 'utf8' });
}

describe('README.md', () => {
  test.each(snippets)('has the documented output: $name', ({ code, printed }) => {
    expect(run(code)).toBe(printed);
  });

  test('has snippets, and mentions only npm scripts that exist', () => {
    expect(snippets.length).toBeGreaterThan(0);
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const commands = readme.matchAll(/(?<=`|&& |^)npm (?:run )?([a-z]+)/gm);
    const unknown = [...commands].filter(([, name = '']) => name !== 'ci' && !(name in scripts));
    expect(unknown).toEqual([]);
  });
});

const withSnippets = globSync(['{packages,apps}/*/README.md', 'docs/caching.md']);

test.each(withSnippets)('%s has snippets that run', (path) => {
  for (const { code, printed } of snippetsOf(readFileSync(path, 'utf8'))) {
    const output = run(code);
    if (printed !== undefined) expect(output).toBe(printed);
  }
});

test('every relative link in a document has a target', () => {
  const documents = globSync('**/*.md', { exclude: ['**/node_modules/**', '.changeset/**'] });
  const broken = documents.flatMap((path) => {
    const links = readFileSync(path, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g);
    return [...links]
      .map(([, target = '']) => join(dirname(path), target))
      .filter((target) => !existsSync(target))
      .map((target) => `${path}: ${target}`);
  });
  expect(broken).toEqual([]);
});

test('documented commands use npx node, which is the version of the project', () => {
  const texts = globSync('{*.md,docs/**/*.{md,yaml},{packages,apps}/*/README.md,examples/**/*.ts}');
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
