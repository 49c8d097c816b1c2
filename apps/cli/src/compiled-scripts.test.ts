import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { childEnv } from '../../../packages/core/src/testing/runs.ts';

const source = new URL('./compiled-scripts.ts', import.meta.url).href;

const setUp = `
import { readdirSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { mock } from 'node:test';
const [, , cache, scripts] = process.argv;
enableCompileCache(cache);
const { runScript } = await import('${source}');
const script = (name) => runScript(new URL(name + '.script.js', scripts));
`;

/**
 * Loads the script `first`, then 9 seconds later the script `second`, and prints after each step how many
 * scripts are stored.
 */
const slowStart = `${setUp}
mock.timers.enable({ apis: ['setTimeout'] });
const stored = () => readdirSync(getCompileCacheDir()).filter((name) => name.endsWith('.script.js')).length;
const counts = [];
const after = (step) => { step(); counts.push(stored()); };
after(() => script('first'));
after(() => mock.timers.tick(9000));
after(() => script('second'));
after(() => mock.timers.tick(9000));
after(() => mock.timers.tick(9000));
console.log(JSON.stringify(counts));
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-compiled-'));
  mkdirSync(join(folder, 'cache'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function addScript(name: string, code: string): void {
  writeFileSync(join(folder, `${name}.script.js`), code);
}

/** Runs a program with a compile cache of its own and returns what it prints. */
function run(program: string): string {
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  const args = ['--disable-warning=ExperimentalWarning', file, join(folder, 'cache')];
  const { NODE_COMPILE_CACHE: _, ...env } = childEnv();
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...args, pathToFileURL(`${folder}/`).href],
    { env, encoding: 'utf8' },
  );
  expect(stderr).toBe('');
  return stdout;
}

test('a slow start stores compiled code only when it has loaded all scripts', () => {
  for (const name of ['first', 'second']) addScript(name, '(function () { return 1; })');
  expect(JSON.parse(run(slowStart))).toEqual([0, 0, 0, 0, 2]);
});

test('a start adds the functions that an earlier start did not call', () => {
  const functions = ['early', 'late', 'never'].map(
    (name) => `${name}(a) { return [${'a + 1, '.repeat(2000)}]; }`,
  );
  addScript('any', `({ ${functions.join(', ')} })`);
  const start = (calls: string) => {
    run(`${setUp} const any = script('any'); ${calls}`);
    const [file = ''] = globSync(join(folder, 'cache/*/any.script.js'));
    return statSync(file).size;
  };
  // For example, a user leaves at the first question, or runs a command that shows no chat.
  const first = start('any.early(1)');
  const second = start('any.late(1)');
  expect(second).toBeGreaterThan(first + 2000);
  // A start that calls less removes nothing, and the size does not grow for ever.
  expect(start('')).toBe(second);
  expect(start('')).toBe(second);
  expect(start('any.never(1)')).toBe(second);
});
