import { spawnSync } from 'node:child_process';
import { publishedPackages, root } from './packages/published.ts';

/** Runs publint on every published package. */
const failed = publishedPackages().filter(({ folder }) => {
  const publint = ['node_modules/publint/src/cli.js', '--strict', folder];
  return spawnSync(process.execPath, publint, { cwd: root, stdio: 'inherit' }).status !== 0;
});
if (failed.length > 0) {
  console.error(`publint: ${failed.map(({ folder }) => folder).join(', ')}`);
  process.exitCode = 1;
}
