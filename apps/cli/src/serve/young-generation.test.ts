import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { childEnv } from '../../../../packages/core/src/testing/runs.ts';

const program = fileURLToPath(new URL('../testing/allocating-program.ts', import.meta.url));

/** Returns the size of the young generation after a process has allocated much, in MiB. */
async function sizeAfterWork(...limit: readonly string[]): Promise<number> {
  const flags = ['--disable-warning=ExperimentalWarning', '--conditions=@millrace/source'];
  const args = [...flags, program, ...limit];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: childEnv() });
  return Number(stdout) / 2 ** 20;
}

test('21: a server limits the young generation of V8 at run time', async () => {
  const [free, limited] = await Promise.all([sizeAfterWork(), sizeAfterWork(`${2 ** 20}`)]);
  expect(free).toBeGreaterThan(16);
  expect(limited).toBeLessThan(free / 2);
});
