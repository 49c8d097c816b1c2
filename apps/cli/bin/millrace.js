#!/usr/bin/env node
// What npm links as the command. It is in the repository, because in a clone npm links before anything is
// built; there the program is built when it is first asked for.
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const program = new URL('../bundle/main.js', import.meta.url);
if (existsSync(program) || (await build())) await import(program.href);

/** Says what to do where it could not. */
async function build() {
  const script = fileURLToPath(new URL('../../../scripts/bundle-cli.ts', import.meta.url));
  if (existsSync(script)) {
    process.stderr.write('Building millrace, once …\n');
    const { spawnSync } = await import('node:child_process');
    // What it prints is not the program's: standard output may be read by a script.
    const { status } = spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] });
    if (status === 0) return true;
    process.stderr.write('Cannot build millrace: run npm ci in its repository first\n');
  } else {
    process.stderr.write('Cannot start millrace: its bundle is missing. Install it again\n');
  }
  process.exitCode = 1;
  return false;
}
