#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import { makeFolder } from './make-folder.ts';

// The cache is in the user's own folder. In the folder for temporary files another user could plant
// code, and so could a project if the path were relative.
const given = process.env['XDG_CACHE_HOME'] ?? '';
try {
  const caches = isAbsolute(given) ? given : join(homedir(), '.cache');
  const folder = join(caches, 'millrace', 'compiled');
  // Node.js would try forever to create a folder below /proc.
  makeFolder(folder);
  enableCompileCache(folder);
} catch {
  // There is no such folder, or no home. The command works without a cache.
}

const argv = process.argv.slice(2);
// Scripts and installers call this, so nothing else is loaded.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  const { version } = await import('./package-files.ts');
  process.stdout.write(`${version()}\n`);
} else {
  const { runProcess } = await import('./command/run-process.ts');
  process.exitCode = await runProcess(process, argv);
}
