import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const { bin, files } = JSON.parse(readFileSync('apps/cli/package.json', 'utf8')) as {
  readonly bin: { readonly millrace: string };
  readonly files: readonly string[];
};

const program = "console.log('ran with', ...process.argv.slice(2));";
const buildScript = (...steps: readonly string[]) =>
  [
    "import { mkdirSync, writeFileSync } from 'node:fs';",
    "const folder: string = new URL('../apps/cli/bundle/', import.meta.url).pathname;",
    "console.log('built', process.argv.length);",
    ...steps,
  ].join('\n');
const builds = buildScript(
  'mkdirSync(folder);',
  `writeFileSync(folder + 'main.js', ${JSON.stringify(program)});`,
);

/**
 * Creates a folder that contains the package, linked as npm does, and other files. Returns a
 * function that runs the command.
 */
function installCli(others: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-bin-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const cli = join(root, 'apps/cli');
  mkdirSync(join(root, 'scripts'));
  cpSync('apps/cli/package.json', join(cli, 'package.json'));
  cpSync(join('apps/cli', bin.millrace), join(cli, bin.millrace));
  for (const [path, text] of Object.entries(others)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return (...args: readonly string[]) => {
    const command = [join(cli, bin.millrace), ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
    return { status, stdout, stderr };
  };
}

test('the file that npm links is in the repository and in the package', () => {
  const { status } = spawnSync('git', ['check-ignore', '-q', join('apps/cli', bin.millrace)]);
  expect(status).toBe(1);
  expect(files.some((folder) => bin.millrace.startsWith(`./${folder}/`))).toBe(true);
  expect(readFileSync(join('apps/cli', bin.millrace), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test('in a clone, the first command builds the program and the next one uses it', () => {
  const millrace = installCli({ 'scripts/bundle-cli.ts': builds });
  expect(millrace('serve', '--port', '0')).toEqual({
    ...{ status: 0, stdout: 'ran with serve --port 0\n' },
    // The build script does not receive the arguments of the command.
    stderr: 'Building millrace, once …\nbuilt 2\n',
  });
  expect(millrace('-p')).toEqual({ status: 0, stdout: 'ran with -p\n', stderr: '' });
});

test('a failed build is reported with the command that fixes it', () => {
  const fails = buildScript('process.exit(1);');
  const { status, stdout, stderr } = installCli({ 'scripts/bundle-cli.ts': fails })();
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toContain('Cannot build millrace: run npm ci');
});

test('a package without its bundle reports that', () => {
  const { status, stderr } = installCli({})();
  expect([status, stderr]).toEqual([
    1,
    'Cannot start millrace: its bundle is missing. Install it again\n',
  ]);
});

test('an installed package starts its bundle without a build', () => {
  const millrace = installCli({ 'apps/cli/bundle/main.js': program });
  expect(millrace('doctor')).toEqual({ status: 0, stdout: 'ran with doctor\n', stderr: '' });
});
