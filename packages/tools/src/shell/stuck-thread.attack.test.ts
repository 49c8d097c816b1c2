import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { childEnv } from '../../../core/src/testing/runs.ts';

// A command keeps the main thread of the agent waiting in the kernel, so that the agent checks nothing.

const program = fileURLToPath(new URL('../testing/sandbox/stuck-program.ts', import.meta.url));

test.skipIf(process.platform !== 'linux').for([
  // `Atomics.wait` is a wait in the state S. A test cannot make the kernel wait in the state D.
  ['that waits in the kernel', 'S', '60000', 'true SIGKILL'],
  ['that waits for another reason', 'D', '4000', 'false SIGTERM'],
] as const)(
  '18.1813: attack: a command runs beside a main thread %s',
  ([, state, waitMs, result]) => {
    const args = ['--conditions=@millrace/source', program, state, waitMs];
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      ...{ encoding: 'utf8', env: childEnv() },
    });
    expect(stdout, stderr).toBe(result);
  },
);
