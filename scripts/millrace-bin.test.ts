import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const version = '1.2.3';
const arguments_ = ['-p', 'it\'s "5 $(HOME)"', ''];
const command = "console.log('the command', JSON.stringify(process.argv.slice(2)));";
const cli = {
  'package.json': JSON.stringify({ version, bin: { millrace: './bin/start.js' }, type: 'module' }),
  'bin/start.js': command,
};
/** A fake npm that prints its working folder and its arguments, and exits with code 7. */
const npm = `console.log(JSON.stringify([process.cwd(), ...process.argv.slice(2)])); process.exitCode = 7;`;

type Files = Readonly<Record<string, string>>;

const below = (folder: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));

/** Installs the package `millrace` with other files. Then runs its command in the folder `work`. */
function runMillrace(place: string, others: Files) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-launcher-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const files = {
    ...others,
    [`${place}/package.json`]: JSON.stringify({ version, type: 'module' }),
  };
  for (const [path, text] of Object.entries({ 'work/.keep': '', 'tmp/.keep': '', ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o755 });
  }
  const script = join(root, place, 'bin/millrace.js');
  cpSync('packages/millrace/bin/millrace.js', script);
  const env = {
    PATH: join(root, 'path'),
    TMPDIR: join(root, 'tmp'),
    npm_execpath: join(root, 'npm/npx-cli.js'),
  };
  const options = { cwd: join(root, 'work'), env, encoding: 'utf8' } as const;
  const run = spawnSync(process.execPath, [script, ...arguments_], options);
  expect(readdirSync(join(root, 'tmp')), 'a temporary folder is left').toEqual(['.keep']);
  return { ...run, root, lines: run.stdout.trim().split('\n') };
}

test('starts the command that is installed beside it, with the same arguments', () => {
  const installed = below('project/node_modules/@millrace/cli', cli);
  const run = runMillrace('project/node_modules/millrace', installed);
  expect(run).toMatchObject({ status: 0, stderr: '' });
  expect(run.lines).toEqual([`the command ${JSON.stringify(arguments_)}`]);
});

test('otherwise lets npm run the same version, and passes on the exit code', () => {
  const run = runMillrace('project/node_modules/millrace', { 'npm/npm-cli.js': npm });
  expect(run).toMatchObject({ status: 7, stderr: '' });
  const [cwd, exec, ...others] = JSON.parse(run.stdout) as readonly string[];
  expect([cwd, exec]).toEqual([join(run.root, 'work'), 'exec']);
  expect(others).toEqual([
    ...[
      '--prefer-offline',
      '--prefix',
      expect.stringContaining(join(run.root, 'tmp', 'millrace-start-')),
    ],
    ...['--package', `@millrace/cli@${version}`, '--', 'millrace', ...arguments_],
  ]);
});

test('asks npm to download without a question only for a user whom npx has asked', () => {
  const cached = 'cache/_npx/abc/node_modules/millrace';
  const run = runMillrace(cached, { 'npm/npm-cli.js': npm });
  expect(JSON.parse(run.stdout)).toContain('--yes');
});

test('does not run the command of the current folder, which may belong to somebody else', () => {
  const planted = below('work/node_modules/@millrace/cli', cli);
  const run = runMillrace('global/node_modules/millrace', { ...planted, 'npm/npm-cli.js': npm });
  expect(run.stdout).not.toContain('the command');
});

test('without npm it names the package to install', () => {
  const run = runMillrace('project/node_modules/millrace', {});
  expect(run).toMatchObject({ status: 1, stdout: '' });
  expect(run.stderr).toContain(`npm install --global @millrace/cli@${version}`);
});
