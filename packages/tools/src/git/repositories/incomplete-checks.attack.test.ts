import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { patientMs } from '../../../../core/src/testing/runs.ts';
import { SandboxError } from '../../contract/sandbox.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { watchRepositories } from './new-repositories.ts';
import { PackageRepositories } from './package-repositories.ts';
import { RepositorySearch } from './repository-search.ts';

// A command keeps the checks that run beside it from finding a repository, and cleans up before the last check.

const poll = { interval: 1, timeout: patientMs(60_000) };

async function watched(search: RepositorySearch, inner?: RepositorySearch) {
  const root = temporaryFolder();
  execFileSync('git', ['init', '-q'], { cwd: root });
  const about = { root, search, known: search.survey(root).found, guarded: [], network: false };
  const harmless = Promise.resolve(new Set<string>());
  const packages = new PackageRepositories(search);
  const watch = watchRepositories({
    ...about,
    changesGit: true,
    packages,
    harmless,
    inner,
    everyMs: 1,
  });
  await watch.ready;
  return { root, watch };
}

test('18.1266: attack: a command creates too many folders, and removes them', async () => {
  const { root, watch } = await watched(new RepositorySearch({ maxFolders: 20 }));
  for (let at = 0; at < 30; at++) mkdirSync(join(root, `.a${at}`));
  await expect.poll(() => watch.blocked.aborted, poll).toBe(true);
  for (let at = 0; at < 30; at++) rmSync(join(root, `.a${at}`), { recursive: true });
  expect((await watch.finish()).join()).toContain('could not search all folders');
});

test('18.1267: attack: a command creates very many files in a git folder', async () => {
  const inner = new RepositorySearch({ maxFiles: 50, readsFiles: true });
  const { root, watch } = await watched(new RepositorySearch(), inner);
  for (let at = 0; at < 60; at++) writeFileSync(join(root, '.git/refs/heads', `a${at}`), '');
  await expect.poll(() => watch.blocked.aborted, poll).toBe(true);
  expect((await watch.finish()).join()).toContain('more than 50 files');
});

/** Makes the next searches of the workspace fail. Returns the number of all searches. */
function failingSearches(count: number, fail: () => void): () => number {
  const { surveyInSlices } = RepositorySearch.prototype;
  const spy = vi.spyOn(RepositorySearch.prototype, 'surveyInSlices');
  onTestFinished(() => spy.mockRestore());
  let searches = 0;
  spy.mockImplementation(async function (this: RepositorySearch, root, folders) {
    const all = await surveyInSlices.call(this, root, folders);
    const isOfWorkspace = folders[0] === root && !root.endsWith('.git');
    if (!isOfWorkspace || ++searches > count) return all;
    fail();
    const problem = new SandboxError('cannot_confine', 'a folder is unreadable', {});
    return { ...all, problem };
  });
  return () => searches;
}

test.for([
  ['is unreadable for a moment', 1, () => {}, false],
  ['stays unreadable', 2, () => {}, true],
  [
    'makes the search fail',
    2,
    () => {
      throw new RangeError('unknown');
    },
    true,
  ],
] as const)('18.1266: attack: a folder that %s', async ([, count, fail, isStopped]) => {
  const searches = failingSearches(count, fail);
  const { watch } = await watched(new RepositorySearch());
  const isOver = () => watch.blocked.aborted || searches() > 5;
  await expect.poll(isOver, poll).toBe(true);
  expect(watch.blocked.aborted).toBe(isStopped);
  const notes = (await watch.finish()).join();
  expect(notes.includes('could not search all folders')).toBe(isStopped);
});

test('18.1267: attack: a command makes each check slow, so that the next one starts late', async () => {
  const searches = failingSearches(0, () => {});
  const { watch } = await watched(new RepositorySearch());
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000_000));
  onTestFinished(() => clock.mockRestore());
  const waits = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => waits.mockRestore());
  const before = searches();
  const start = () => searches() > before + 3;
  while (!start()) await new Promise((resolve) => setImmediate(resolve));
  watch.stop();
  const delays = waits.mock.calls.map(([, ms]) => ms);
  expect(Math.max(...delays.map((ms) => ms ?? 0))).toBeLessThanOrEqual(5);
});

test('18.1565: attack: a command keeps this process busy with many folders, so that nobody checks the names', async () => {
  const searches = failingSearches(0, () => {});
  const { root, watch } = await watched(new RepositorySearch());
  const folders = 500;
  for (let at = 0; at < folders; at++) mkdirSync(join(root, `a${at}`));
  // Each folder takes long.
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000));
  onTestFinished(() => clock.mockRestore());
  const turnsOfSearch = async () => {
    const before = searches();
    let turns = 0;
    for (; searches() === before; turns++) await new Promise((resolve) => setImmediate(resolve));
    return turns;
  };
  // The first search may have started before the folders existed.
  await turnsOfSearch();
  expect(await turnsOfSearch()).toBeGreaterThan(folders / 2);
  watch.stop();
});
