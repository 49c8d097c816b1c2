#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import process from 'node:process';

const argv = process.argv.slice(2);
// Scripts and installers call `--version` often, so this path loads no other modules.
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
  const { version } = await import('./package-files.ts');
  process.stdout.write(`${version()}\n`);
} else {
  await cacheCompiledCode();
  const { runProcess } = await import('./command/run-process.ts');
  process.exitCode = await runProcess(process, argv);
}

/**
 * Stores compiled code in a folder, so that later starts are faster. The sandbox prevents commands
 * from changing this folder.
 */
async function cacheCompiledCode(): Promise<void> {
  const { makeFolder } = await import('./make-folder.ts');
  const { compileCacheFolder } = await import('./package-files.ts');
  try {
    const folder = compileCacheFolder(process.env);
    // Node's own function would try forever to create a folder below /proc. `makeFolder` fails at
    // once.
    makeFolder(folder);
    enableCompileCache(folder);
  } catch {
    // The folder cannot be created, or there is no home folder. The command also works without a
    // cache.
  }
}
