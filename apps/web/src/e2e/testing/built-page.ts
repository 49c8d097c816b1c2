import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnce } from '../../../../../scripts/process-folder.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));

/**
 * Builds the page as it is published, once for all tests of a run. Returns its folder. A fresh
 * clone has no built page. Rebuilding in place would break the page for other processes that serve
 * it.
 */
export function builtPage(): string {
  return buildOnce('millrace-page', build);
}

function build(folder: string): void {
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const flags = ['build', '--outDir', folder, '--emptyOutDir', '--logLevel', 'error'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, ...flags], {
    cwd: join(root, 'apps/web'),
    encoding: 'utf8',
    // Vite reads the build mode from NODE_ENV, which is `test` in this process.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (status !== 0) throw new Error(`The page cannot be built:\n${stdout}${stderr}`);
}
