#!/usr/bin/env node
// npm links this file as the `millrace` command. In a clone, npm creates the link before the
// program is built. So this file is part of the repository, and its first call builds the program.
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const program = new URL('../bundle/main.js', import.meta.url);
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `millrace needs Node 22.18 or later. This is Node ${process.versions.node}. Install a newer Node, or run npx millrace in a clone, which has its own Node\n`,
  );
  process.exitCode = 1;
} else if (existsSync(program) || (await build())) await import(program.href);

/** Builds the program in a clone. If this fails, it prints instructions and returns false. */
async function build() {
  const script = fileURLToPath(new URL('../../../scripts/bundle-cli.ts', import.meta.url));
  if (existsSync(script)) {
    process.stderr.write('Building millrace, once …\n');
    const { spawnSync } = await import('node:child_process');
    // The build prints to standard error, because a script may read the standard output of the
    // command.
    const { status } = spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] });
    if (status === 0) return true;
    process.stderr.write('Cannot build millrace: run npm ci in its repository first\n');
  } else {
    process.stderr.write('Cannot start millrace: its bundle is missing. Install it again\n');
  }
  process.exitCode = 1;
  return false;
}
