import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, toolCallId } from '@millrace/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { editTool } from '../files/edit-tool.ts';
import { writeTool } from '../files/write-tool.ts';
import { policyRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace, type Workspace } from '../workspace/workspace.ts';
import { approveByPolicy } from './approve-by-policy.ts';
import { permissionPolicy } from './permission-policy.ts';

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

test('without a rule, the question says that git obeys the file', async () => {
  const { reason } = await policyRuling(root, ['write', { path: 'gitdata/config', content: '' }]);
  expect(reason).toMatch(/^No rule allows writing gitdata\/config\. It can make git/);
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

describe('18.772: attack: git obeys a file only after the decision about its change', () => {
  const decide = async (workspace: Workspace, name: string, input: JsonObject) => {
    const policy = permissionPolicy({ root: workspace.root, rules: [{ decision: 'allow' }] });
    const tool = name === 'edit' ? editTool(workspace) : writeTool(workspace);
    const part = { kind: 'tool_call', toolCallId: toolCallId('c'), name, arguments: '' } as const;
    const pending = { name, call: part, tool, input, summary: name };
    const ruling = await approveByPolicy(policy, workspace)(pending);
    if (typeof ruling === 'string') throw new Error('the policy has not judged a path');
    expect(ruling.decision).toBe('allow');
    return { tool, judged: ruling.judged };
  };

  test.each([
    [
      'write',
      'meta/config',
      () => execFileSync('git', ['init', '-q', '--bare', join(root, 'meta')]),
    ],
    ['edit', 'tools/a.sh', () => symlinkSync('../a.sh', join(root, 'tools/hooks/pre-push'))],
    ['write', 'conf/tasks.json', () => symlinkSync('conf', join(root, '.vscode'))],
  ])('%s does not change %s', async (name, path, change) => {
    const workspace = createWorkspace({ root });
    writeTree(root, { 'tools/a.sh': 'old', 'conf/a': '' });
    const edits = [{ old_text: 'old', new_text: 'new' }];
    const input = name === 'edit' ? { path, edits } : { path, content: 'new' };
    const { tool, judged } = await decide(workspace, name, input);
    change();
    const refused = await runTool(tool, input, { judged });
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toContain('Nothing was done. Make the call again');
    // The decision about the next call covers the protected file.
    const again = await decide(workspace, name, input);
    expect(await runTool(again.tool, input, { judged: again.judged })).toMatchObject({
      isError: false,
    });
  });

  test('the check comes after the change is on the log', async () => {
    const workspace = createWorkspace({ root });
    writeTree(root, { 'conf/tasks.json': 'old' });
    const input = { path: 'conf/tasks.json', content: 'new' };
    const { tool, judged } = await decide(workspace, 'write', input);
    const recordFileChange = async () => symlinkSync('conf', join(root, '.vscode'));
    const refused = await runTool(tool, input, { judged, recordFileChange });
    expect(refused.text).toContain('another program now obeys conf');
    expect(readFileSync(join(root, 'conf/tasks.json'), 'utf8')).toBe('old');
  });
});
