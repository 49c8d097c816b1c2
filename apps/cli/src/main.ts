#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
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

/** The sandbox lets no command change this folder. */
async function cacheCompiledCode(): Promise<void> {
  const { makeFolder } = await import('./make-folder.ts');
  const { compileCacheFolder } = await import('./package-files.ts');
  try {
    const folder = compileCacheFolder(process.env);
    // Node.js would try forever to create a folder below /proc.
    makeFolder(folder);
    enableCompileCache(folder);
  } catch {
    // There is no such folder, or no home. The command works without a cache.
  }
}
