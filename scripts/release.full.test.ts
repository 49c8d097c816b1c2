import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { faultsOf } from './packages/pack.ts';
import { type Manifest, publishedPackages, root } from './packages/published.ts';
import { runProgram } from './packages/run-program.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-release-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const release = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runProgram(process.execPath, ['scripts/release.ts', ...args], { cwd: root, env });

test('the versions of a release are the same for all packages, and change logs are readable', async () => {
  const copy = temporaryFolder();
  const paths = ['package.json', 'package-lock.json', 'scripts/packages/changelog.ts'];
  const manifests = globSync('{packages,apps}/*/package.json', { cwd: root });
  for (const path of [...paths, ...manifests]) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  cpSync(join(root, '.changeset'), join(copy, '.changeset'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const changed = ["'@millrace/core': patch", "'@millrace/temporal': minor"];
  const changeset = ['---', ...changed, '---', '', 'A test change.', '', '- A detail.', ''];
  writeFileSync(join(copy, '.changeset/zz-test.md'), changeset.join('\n'));
  const git = (...args: readonly string[]) =>
    runProgram('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
      cwd: copy,
    });
  await git('init', '--quiet', '--initial-branch=main');
  await git('add', '--all', '--', ':!node_modules');
  await git('commit', '--quiet', '--message', 'A copy');
  const before = publishedPackages()[0]?.manifest.version ?? '';
  await runProgram(
    process.execPath,
    [join(root, 'node_modules/@changesets/cli/bin.js'), 'version'],
    {
      cwd: copy,
    },
  );
  const [major, minor] = before.split('.').map(Number);
  const next = `${major}.${(minor ?? 0) + 1}.0`;
  const after = publishedPackages(copy).map(({ manifest }) => manifest);
  expect(after.filter(({ version }) => version !== next)).toEqual([]);
  const ranges = after.flatMap(({ dependencies, peerDependencies }) =>
    Object.entries({ ...dependencies, ...peerDependencies }),
  );
  const ours = ranges.filter(([name]) => /^@?millrace\b/.test(name));
  expect(ours.filter(([, range]) => range !== `^${next}`)).toEqual([]);
  const log = readFileSync(join(copy, 'packages/temporal/CHANGELOG.md'), 'utf8');
  expect(log).toContain('- A test change.\n\n  - A detail.\n');
  expect(log).toContain(`- Uses version ${next} of the other Millrace packages.`);
  expect(log).not.toMatch(/Updated dependencies|^- [0-9a-f]{7}:/m);
});

test('faults of a packed package are found', () => {
  const content = temporaryFolder();
  const manifest: Manifest = {
    ...{ name: 'x', version: '1.0.0', files: ['dist', 'src'] },
    dependencies: { y: 'file:../y', z: '^1.0.0' },
  };
  const files = {
    'package.json': '{}',
    'README.md': '',
    'notes.md': '',
    'dist/a.js': 'a();\n//# sourceMappingURL=a.js.map',
    'dist/a.js.map': JSON.stringify({ sources: ['../src/a.ts', '../src/gone.ts'] }),
    'dist/b.js': 'b();\n//# sourceMappingURL=b.js.map',
    'src/a.ts': '',
    'src/b.ts': '',
    'src/a.test.ts': '',
    'src/testing/fake.ts': '',
    'dist/old.js': '',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(content, path)), { recursive: true });
    writeFileSync(join(content, path), text);
  }
  expect(faultsOf({ manifest, content }).toSorted()).toEqual([
    'LICENSE is missing',
    'dist/a.js.map names the source ../src/gone.ts, which is missing',
    'dist/b.js names the source map b.js.map, which is missing',
    'dist/old.js has no source',
    'notes.md does not belong into a package',
    'src/a.test.ts does not belong into a package',
    'src/testing/fake.ts does not belong into a package',
    'the dependency y is file:../y',
  ]);
});

test('a release outside of CI is refused, and so is an unknown argument', async () => {
  await expect(release([], { CI: '' })).rejects.toThrow('only in CI');
  await expect(release(['--dryrun'])).rejects.toThrow('Unknown argument --dryrun');
});
