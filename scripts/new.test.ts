import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds, skeletonOf } from './new/skeleton.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-new-'));
});
afterAll(() => rmSync(root, { recursive: true }));

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['scripts/new.ts', ...args], {
    encoding: 'utf8',
    env: { ...process.env, MILLRACE_NEW_ROOT: root },
  });

describe.each(kinds)('npm run new -- %s', (kind) => {
  const skeleton = skeletonOf(kind, 'acme-chat');
  if (skeleton === undefined) throw new Error(`There is no skeleton of a ${kind}`);
  const { files, guide, test: tests } = skeleton;
  const paths = Object.keys(files);

  test('writes its files and says what to do next', () => {
    const { stdout, status } = run(kind, 'acme-chat');
    expect(status).toBe(0);
    for (const path of paths) expect(readFileSync(join(root, path), 'utf8')).toBe(files[path]);
    expect(stdout).toContain(`npx vitest run ${tests}`);
    expect(stdout).toContain(guide);
  });

  test('does not overwrite an existing folder', () => {
    run(kind, 'acme-chat');
    const { stderr, status } = run(kind, 'acme-chat');
    expect(status).toBe(1);
    expect(stderr).toContain('exists already');
  });

  test('is TypeScript, and imports files and names that exist', () => {
    for (const [path, text] of Object.entries(files)) {
      expect(() => stripTypeScriptTypes(text)).not.toThrow();
      for (const [, names = '', target = ''] of text.matchAll(
        /import (?:type )?\{([^}]*)\} from '(\.[^']+)'/g,
      )) {
        const file = join(dirname(path), target);
        const source = files[file] ?? readFileSync(file, 'utf8');
        for (const name of names.split(',').map((one) => one.replace(/\btype\b/, '').trim()))
          if (name !== '') expect(source, `${file}: ${name}`).toMatch(new RegExp(`\\b${name}\\b`));
      }
    }
  });

  test('has tests, and a guide', () => {
    expect(paths.some((path) => path.endsWith('.test.ts'))).toBe(true);
    expect(existsSync(guide)).toBe(true);
  });
});

test.each([
  [['provider', 'Acme']],
  [['provider', '../acme']],
  [['provider', '']],
  [['database', 'acme']],
  [['tool', 'acme', 'more']],
  [[]],
])('%j is refused with the usage', (args) => {
  const { stderr, status } = run(...args);
  expect(status).toBe(2);
  expect(stderr).toContain('Usage: npm run new -- provider|store|tool|view <name>');
});

test('the command is a script of package.json', () => {
  const usage = execFileSync('npm', ['pkg', 'get', 'scripts.new'], { encoding: 'utf8' });
  expect(JSON.parse(usage)).toBe('node scripts/new.ts');
});
