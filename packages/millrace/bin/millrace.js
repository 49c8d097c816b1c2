#!/usr/bin/env node
// Starts the command of the package @millrace/cli. With this file, `npx millrace` works although the library
// does not contain the command. If @millrace/cli is not installed beside this package, npm runs it from its
// cache, or downloads it first.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, sep } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const { version } = readManifest(new URL('../package.json', import.meta.url));
const installed = installedCommand();
if (installed === undefined) runWithNpm();
else await import(installed.href);

/**
 * Node searches only beside this package. It does not search the current folder, because somebody else may
 * have created its files.
 */
function installedCommand() {
  try {
    const manifest = new URL(import.meta.resolve('@millrace/cli/package.json'));
    return new URL(readManifest(manifest).bin.millrace, manifest);
  } catch {
    return undefined;
  }
}

function readManifest(url) {
  return JSON.parse(readFileSync(url, 'utf8'));
}

function runWithNpm() {
  // npm runs in an empty folder, where it finds no package and no .npmrc of the current project.
  const folder = mkdtempSync(join(tmpdir(), 'millrace-start-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const { program, first } = npmCommand();
  // The user ran npx without an installed package, so the user has already agreed to the download.
  const isAgreed = fileURLToPath(import.meta.url).includes(`${sep}_npx${sep}`);
  // A published version never changes, so npm can use its cached copy without asking the registry.
  const options = ['--prefer-offline', '--prefix', folder, '--package', `@millrace/cli@${version}`];
  const args = [...first, 'exec', ...(isAgreed ? ['--yes'] : []), ...options, '--', 'millrace'];
  const npm = spawn(program, [...args, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal also sends this signal to npm. This process must not end before npm, because it returns the
  // exit code of npm.
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => npm.kill(signal));
  npm.once('error', (error) => {
    removeFolder();
    process.stderr.write(
      `Cannot start npm (${error.message}). Install the command: npm install --global @millrace/cli@${version}\n`,
    );
    process.exitCode = 1;
  });
  npm.once('exit', (code, signal) => {
    removeFolder();
    process.exitCode = signal === null ? (code ?? 1) : 1;
  });
}

/** Returns the npm that started this process, or the npm in PATH. */
function npmCommand() {
  const starter = process.env.npm_execpath ?? '';
  // Under npx, the variable contains the path of npx-cli.js, which is in the same folder as npm-cli.js.
  const script = join(dirname(starter), 'npm-cli.js');
  const isNpm = /^np[mx]-cli\.js$/.test(basename(starter)) && existsSync(script);
  return isNpm ? { program: process.execPath, first: [script] } : { program: 'npm', first: [] };
}
