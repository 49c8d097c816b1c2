import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../apps/cli/src/testing/built-program.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = join(root, 'apps/cli/package.json');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-bundle-'));
  // A copy outside of the project cannot find the packages of the project.
  cpSync(dirname(dirname(builtProgram())), folder, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(argv: readonly string[], cwd = folder, home = folder) {
  const env = { HOME: home, PATH: process.env['PATH'] };
  return spawnSync(process.execPath, [...argv], { cwd, env, encoding: 'utf8', input: '' });
}

const millrace = () => join(folder, 'bundle/main.js');

test('prints its version', () => {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  expect(run([millrace(), '--version'])).toMatchObject({ status: 0, stdout: `${version}\n` });
});

test('works without other packages, including the search worker', () => {
  const work = join(folder, 'work');
  mkdirSync(join(work, 'src'), { recursive: true });
  writeFileSync(join(work, 'src/report.ts'), '// TODO: handle a missing forecast\n');
  const { status, stdout, stderr } = run([millrace()], work);
  expect(status).toBe(0);
  expect(stderr).not.toContain('Warning');
  expect(stdout).toContain('I found 1 TODO note.');
});

test('has no syntax that Node 22 cannot read', () => {
  const files = globSync('bundle/**/*.js', { cwd: folder });
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.filter((text) => /^\s*(?:await )?using \w+ =/m.test(text))).toEqual([]);
});

test('a start of the chat loads few files, and no slow modules of Node', () => {
  const names = globSync('*.js', { cwd: join(folder, 'bundle') });
  const parts = ['run-process', 'run-agent', 'run-chat', 'chat-in-terminal', 'build-agent'];
  const loaded = new Set(['main.js']);
  for (const part of [...parts, 'choose-model', 'open-store', 'sqlite', 'tracing'])
    for (const name of names) if (name.startsWith(`${part}-`)) loaded.add(name);
  const modules = new Set<string>();
  const withoutExports = new Set<string>();
  for (const name of loaded) {
    const text = readFileSync(join(folder, 'bundle', name), 'utf8');
    for (const [, from = ''] of text.matchAll(/^(?:import|export) [^;]*?"([^"]+)";$/gm))
      if (from.startsWith('./')) loaded.add(from.slice(2));
      else modules.add(from);
    for (const [, from = ''] of text.matchAll(/ = process\.getBuiltinModule\("([^"]+)"\);$/gm))
      withoutExports.add(from);
  }
  expect(loaded.size).toBeLessThan(30);
  expect(modules).toContain('node:fs');
  // Node needs more than 8 ms to create the exports of each of these modules.
  for (const slow of ['node:http', 'node:https', 'node:process', 'node:util'])
    expect(modules).not.toContain(slow);
  expect(withoutExports).toContain('node:util');
  for (const slow of ['node:http', 'node:https']) expect(withoutExports).not.toContain(slow);
});

/** Runs the demo once and returns how many functions V8 compiled. */
function compiledFunctions(home: string): number {
  const log = join(home, 'functions.log');
  const flags = ['--log-function-events', `--logfile=${log}`, '--no-logfile-per-isolate'];
  expect(run([...flags, millrace()], home, home).status).toBe(0);
  return readFileSync(log, 'utf8').match(/^function,full-parse,/gm)?.length ?? 0;
}

test('a second start compiles few functions, because the first one stored them', () => {
  const home = mkdtempSync(join(folder, 'home-'));
  const [first, second] = [compiledFunctions(home), compiledFunctions(home)];
  expect(first).toBeGreaterThan(500);
  expect(second).toBeLessThan(first / 3);
});

test('compiles a script again whose stored code is damaged', () => {
  const home = mkdtempSync(join(folder, 'home-'));
  const start = () => run([millrace()], home, home).status;
  expect(start()).toBe(0);
  const [stored = ''] = globSync(join(home, '.cache/millrace/compiled/*/agent-*.script.js'));
  const bytes = readFileSync(stored);
  const damaged = bytes.map((byte, index) => (index > bytes.length / 2 ? 0 : byte));
  writeFileSync(stored, damaged);
  expect(start()).toBe(0);
  expect(readFileSync(stored).equals(damaged)).toBe(false);
  writeFileSync(stored, '');
  expect(start()).toBe(0);
});

test('deletes the compiled code of old versions', () => {
  const home = mkdtempSync(join(folder, 'home-'));
  expect(run([millrace()], home, home).status).toBe(0);
  const [stored = ''] = globSync(join(home, '.cache/millrace/compiled/*/agent-*.script.js'));
  const [old, recent] = ['agent-old.script.js', 'agent-recent.script.js'].map((name) =>
    join(dirname(stored), name),
  );
  const lastYear = Date.now() / 1000 - 365 * 24 * 60 * 60;
  for (const path of [old, recent]) cpSync(stored, path ?? '');
  utimesSync(old ?? '', lastYear, lastYear);
  rmSync(stored);
  expect(run([millrace()], home, home).status).toBe(0);
  expect([old, recent, stored].map((path) => existsSync(path ?? ''))).toEqual([false, true, true]);
});

test('contains the licences of its dependencies', () => {
  const text = readFileSync(join(folder, 'bundle/THIRD-PARTY.txt'), 'utf8');
  expect(text).toMatch(/^react [\d.]+ \(MIT\)\n\nMIT License/m);
  expect(text).not.toContain('@millrace/');
});
