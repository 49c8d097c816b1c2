import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { everythingIn, temporaryFolder } from '../testing/temporary-folder.ts';
import { createWorkspace, type Workspace } from './workspace.ts';

let root: string;
let outside: string;
let workspace: Workspace;
beforeEach(() => {
  const base = temporaryFolder();
  root = join(base, 'root');
  outside = join(base, 'outside');
  for (const folder of [join(root, 'folder', 'deep'), join(outside, 'deep')]) {
    mkdirSync(folder, { recursive: true });
  }
  for (const name of ['file', 'folder/file', 'folder/deep/file']) {
    writeFileSync(join(root, name), 'inside');
    writeFileSync(join(outside, name.replace('folder/', '')), 'outside');
  }
  writeFileSync(join(outside, 'only-outside'), '');
  workspace = createWorkspace({ root });
});

async function startSwapping(): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('../testing/swap-links.ts', import.meta.url));
  const child = spawn(process.execPath, [program, root, outside], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await once(child.stdout, 'data');
  return child;
}

/** Checks the path before opening it, which is not sufficient. This proves that a race exists. */
function isLostByLookingFirst(path: string): boolean {
  try {
    if (!realpathSync(join(root, path)).startsWith(root + sep)) return false;
    return readFileSync(join(root, path), 'utf8') === 'outside';
  } catch {
    return false;
  }
}

const paths = ['folder/file', 'folder/deep/file', 'file'];
const leastTries = isFull ? 3000 : 300;
const mostTries = 100_000;

/**
 * Repeats the attempt until a reader without protection has lost the race and both outcomes have occurred.
 */
async function race(attempt: (path: string, index: number) => Promise<void>) {
  const child = await startSwapping();
  const seen = { done: 0, refused: 0, lostByOthers: 0 };
  for (let index = 0; index < mostTries && child.exitCode === null; index++) {
    const path = paths[index % paths.length] ?? '';
    await attempt(path, index).then(
      () => seen.done++,
      (error: unknown) => {
        if (!(error instanceof WorkspaceError)) throw error;
        seen.refused++;
      },
    );
    if (isLostByLookingFirst(path)) seen.lostByOthers++;
    if (index >= leastTries && Object.values(seen).every((count) => count > 0)) break;
  }
  expect(child.exitCode).toBeNull();
  expect(seen).toEqual({
    done: expect.toSatisfy((count) => count > 0),
    refused: expect.toSatisfy((count) => count > 0),
    lostByOthers: expect.toSatisfy((count) => count > 0),
  });
}

// On other systems Node.js cannot keep a folder open, see folder.ts.
describe.skipIf(process.platform !== 'linux')(
  'a process that replaces folders and files by links',
  () => {
    test('cannot cause a read outside', async () => {
      await race(async (path) => {
        const { bytes } = await workspace.read(path, 100);
        expect(new TextDecoder().decode(bytes)).toBe('inside');
      });
    });

    test('cannot cause a write outside', async () => {
      const before = everythingIn(outside);
      await race(async (path, index) => {
        const name = index % 2 === 0 ? path : `${path}-new/${index % 7}`;
        await workspace.write(name, new TextEncoder().encode('inside'));
      });
      expect(everythingIn(outside)).toEqual(before);
    });

    test('cannot cause a listing outside', async () => {
      await race(async (path) => {
        const { entries } = await workspace.list(path.replace(/\/?file$/, '') || 'folder', 100);
        expect(entries.map(({ name }) => name)).not.toContain('only-outside');
      });
    });
  },
);
