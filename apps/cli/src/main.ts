#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

// In a folder of one's own: in the one for temporary files, somebody else's code could wait for us.
const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
enableCompileCache(join(caches, 'millrace', 'compiled'));

const argv = process.argv.slice(2);
// Asked for by scripts and installers, so nothing else is loaded for it.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  const { version } = await import('./package-files.ts');
  process.stdout.write(`${version()}\n`);
} else {
  const { runProcess } = await import('./command/run-process.ts');
  process.exitCode = await runProcess(process, argv);
}
