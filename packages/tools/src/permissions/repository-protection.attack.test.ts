import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { writeTool } from '../files/write-tool.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';

// The user has allowed all file changes in the folder. A hostile model writes files that git executes or
// obeys, although their names do not show it.

const rules = [{ tool: 'write', path: '**', decision: 'allow' }] as const;

let root: string;
const git = (...words: readonly string[]) => execFileSync('git', ['-C', root, ...words]);
const rule = (path: string, given: { readonly path: string } = rules[0]) =>
  policyRuling(root, ['write', { path, content: '' }], { rules: [{ ...rules[0], ...given }] });

beforeEach(() => {
  root = temporaryFolder();
  git('init', '-q', `--separate-git-dir=${join(root, 'gitdata')}`, '.');
  writeTree(root, { 'tools/hooks/pre-commit': '', 'tools/a.sh': '', 'more.txt': '' });
  git('config', 'core.hooksPath', 'tools/hooks');
  git('config', 'include.path', '../more.txt');
});

test.for([
  'gitdata/config',
  'gitdata/hooks/new',
  'tools/hooks/pre-commit',
  'tools/hooks/new',
  'more.txt',
])('attack: a broad rule does not write %s, which git runs or obeys', async (path) => {
  const { decision, reason } = await rule(path);
  expect({ decision, reason }).toEqual({
    ...{
      decision: 'ask',
      reason: `${path} can make git, a shell, an editor or another program run code`,
    },
  });
});

test('18.95: attack: a broad rule does not write a script that a hook is a link to', async () => {
  symlinkSync('../a.sh', join(root, 'tools/hooks/pre-push'));
  expect((await rule('tools/a.sh')).decision).toBe('ask');
  expect((await rule('tools/b.sh')).decision).toBe('allow');
});

test('attack: a broad rule does not write hooks of a repository in a folder below', async () => {
  execFileSync('git', ['init', '-q', join(root, 'vendor/x')]);
  execFileSync('git', ['-C', join(root, 'vendor/x'), 'config', 'core.hooksPath', '../../src']);
  expect((await rule('src/pre-commit')).decision).toBe('ask');
});

test('attack: a broad rule does not write hooks that the repository above names', async () => {
  const above = root;
  root = join(above, 'tools');
  expect((await rule('hooks/pre-commit')).decision).toBe('ask');
});

test('attack: write does not follow a link to a hook', async () => {
  symlinkSync('tools/hooks', join(root, 'docs'));
  const workspace = createWorkspace({ root });
  const { isError, text } = await runTool(writeTool(workspace), { path: 'docs/new', content: '' });
  expect(isError).toBe(true);
  expect(text).toContain('it leads through a symbolic link to tools/hooks/new');
  expect(existsSync(join(root, 'tools/hooks/new'))).toBe(false);
});

test.for([
  ['tools/a.sh', '**'],
  ['gitdata/description', '**'],
  ['tools/hooks/pre-commit', 'tools/hooks/**'],
  ['gitdata/config', 'gitdata/config'],
] as const)('%s is written with the rule %s', async ([path, glob]) => {
  expect((await rule(path, { path: glob })).decision).toBe('allow');
});

test('a decision creates no folders', async () => {
  mkdirSync(join(root, 'empty/.git'), { recursive: true });
  await rule('a.txt');
  expect(existsSync(join(root, 'empty/.git/hooks'))).toBe(false);
});

test.for([
  ['conf/tasks.json', 'conf/other.json'],
  ['conf/npmrc'],
  ['docs/text.md'],
  ['ci/build.yml'],
  ['chain/two'],
])(
  '18.260: attack: a broad rule does not write %s, to which a protected name is a link',
  async (paths) => {
    writeTree(root, { 'docs/text.md': '', 'ci/a.yml': '', 'chain/two': '', '.github/a.md': '' });
    mkdirSync(join(root, 'conf'));
    symlinkSync('conf', join(root, '.vscode'));
    // The target does not exist.
    symlinkSync('conf/npmrc', join(root, '.npmrc'));
    symlinkSync('docs/text.md', join(root, 'AGENTS.md'));
    symlinkSync('../ci', join(root, '.github/workflows'));
    symlinkSync('chain/one', join(root, '.envrc'));
    symlinkSync('two', join(root, 'chain/one'));
    for (const path of paths) expect((await rule(path)).decision).toBe('ask');
    for (const path of ['docs/other.md', 'chain/three', 'src/a.ts'])
      expect((await rule(path)).decision).toBe('allow');
    expect((await rule('docs/text.md', { path: 'docs/text.md' })).decision).toBe('allow');
  },
);
