#!/usr/bin/env node
// Starts the command, which is in the package @millrace/cli, so that `npx millrace` works and the library
// does not contain the command. If @millrace/cli is not installed beside this package, npm runs it from
// its cache, or downloads it first.
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

/** Node looks beside this package. The current folder is not searched: it may belong to somebody else. */
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
  // In an empty folder, npm finds neither a package nor a .npmrc of the current folder's project.
  const folder = mkdtempSync(join(tmpdir(), 'millrace-start-'));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  const { program, first } = npmCommand();
  // A user who ran npx without an installed package has agreed to the download.
  const isAgreed = fileURLToPath(import.meta.url).includes(`${sep}_npx${sep}`);
  // A version never changes, so npm need not ask the registry for a copy that it has.
  const options = ['--prefer-offline', '--prefix', folder, '--package', `@millrace/cli@${version}`];
  const args = [...first, 'exec', ...(isAgreed ? ['--yes'] : []), ...options, '--', 'millrace'];
  const npm = spawn(program, [...args, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends this signal to npm too. This process waits for the exit code.
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

/** The npm that started this process, or the one in PATH. */
function npmCommand() {
  const starter = process.env.npm_execpath ?? '';
  // Under npx it names npx-cli.js, which is in the same folder.
  const script = join(dirname(starter), 'npm-cli.js');
  const isNpm = /^np[mx]-cli\.js$/.test(basename(starter)) && existsSync(script);
  return isNpm ? { program: process.execPath, first: [script] } : { program: 'npm', first: [] };
}
