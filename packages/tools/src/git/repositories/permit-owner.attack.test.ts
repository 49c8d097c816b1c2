import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { childEnv } from '../../../../core/src/testing/runs.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { permitOwner } from './removal/remove-risk.ts';

/** Starts a program that replaces `folder` in the root with a link to the other folder, again and again. */
async function swapLinks(root: string, outside: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('../../testing/swap-links.ts', import.meta.url));
  const child = spawn(process.execPath, [program, root, outside], {
    ...{ stdio: ['ignore', 'pipe', 'inherit'], env: childEnv() },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.stdout) await once(child.stdout, 'data');
  return child;
}

test('18.1446: attack: a folder becomes a link while its permissions are restored', async () => {
  const [root, outside] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'file'), '');
  chmodSync(outside, 0o500);
  onTestFinished(() => chmodSync(outside, 0o700));
  await swapLinks(root, outside);
  let permitted = 0;
  for (let tries = 0; tries < 20_000; tries++) if (permitOwner(join(root, 'folder'))) permitted++;
  expect(permitted).toBeGreaterThan(0);
  expect(statSync(outside).mode & 0o777).toBe(0o500);
});
