import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnce } from './process-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const script = join(root, 'scripts/bundle-program.ts');

/**
 * Bundles a program of the tests into one file, once for all tests of a run. Returns the path of
 * that file. A server that runs from its sources needs a second of CPU time to start, and its
 * bundle needs a quarter of that.
 */
export function bundledProgram(program: URL): string {
  const source = fileURLToPath(program);
  const name = relative(root, source).replace(/\W+/g, '_');
  const folder = buildOnce(`program-${name}`, (unfinished) => {
    // Some tests start the program as another user.
    chmodSync(unfinished, 0o755);
    const args = [script, source, join(unfinished, 'program.mjs')];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${source} cannot be bundled:\n${stderr}`);
  });
  return join(folder, 'program.mjs');
}
