#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';

const argv = process.argv.slice(2);
// Scripts and installers call this, so nothing else is loaded.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  const { version } = await import('./package-files.ts');
  process.stdout.write(`${version()}\n`);
} else {
  await cacheCompiledCode();
  const { runProcess } = await import('./command/run-process.ts');
  process.exitCode = await runProcess(process, argv);
}

/**
 * The cache is in the user's own folder. In the folder for temporary files another user could plant
 * code, and so could a project if the path were relative.
 */
async function cacheCompiledCode(): Promise<void> {
  const given = process.env['XDG_CACHE_HOME'] ?? '';
  const { makeFolder } = await import('./make-folder.ts');
  try {
    const caches = isAbsolute(given) ? given : join(homedir(), '.cache');
    const folder = join(caches, 'millrace', 'compiled');
    // Node.js would try forever to create a folder below /proc.
    makeFolder(folder);
    enableCompileCache(folder);
  } catch {
    // There is no such folder, or no home. The command works without a cache.
  }
}
