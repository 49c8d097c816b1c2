import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../packages/core/src/testing/runs.ts';

const source = new URL('./compiled-scripts.ts', import.meta.url).href;

/**
 * Loads the script `first`, then 9 seconds later the script `second`, and prints after which of its steps
 * the compiled code of both is stored.
 */
const program = `
import { readdirSync } from 'node:fs';
import { enableCompileCache, getCompileCacheDir } from 'node:module';
import { mock } from 'node:test';
const [, , cache, scripts] = process.argv;
enableCompileCache(cache);
const { runScript } = await import('${source}');
mock.timers.enable({ apis: ['setTimeout'] });
const stored = () => readdirSync(getCompileCacheDir()).filter((name) => name.endsWith('.script.js')).length;
const script = (name) => runScript(new URL(name + '.script.js', scripts));
const counts = [];
const after = (step) => { step(); counts.push(stored()); };
after(() => script('first'));
after(() => mock.timers.tick(9000));
after(() => script('second'));
after(() => mock.timers.tick(9000));
after(() => mock.timers.tick(9000));
console.log(JSON.stringify(counts));
`;

test('a slow start stores compiled code only when it has loaded all scripts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-compiled-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'cache'));
  for (const name of ['first', 'second'])
    writeFileSync(join(folder, `${name}.script.js`), '(function () { return 1; })');
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  const args = ['--disable-warning=ExperimentalWarning', file, join(folder, 'cache')];
  // The tests share a cache, and this program needs one of its own.
  const { NODE_COMPILE_CACHE: _, ...env } = childEnv();
  const { stdout, stderr } = spawnSync(process.execPath, [...args, `file://${folder}/`], {
    env,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([0, 0, 0, 0, 2]);
});
