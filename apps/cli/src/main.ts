#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

// The cache is in the user's own folder. In the folder for temporary files another user could plant
// code.
const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
enableCompileCache(join(caches, 'millrace', 'compiled'));

const argv = process.argv.slice(2);
// Scripts and installers call this, so nothing else is loaded.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  const { version } = await import('./package-files.ts');
  process.stdout.write(`${version()}\n`);
} else {
  const { runProcess } = await import('./command/run-process.ts');
  process.exitCode = await runProcess(process, argv);
}
