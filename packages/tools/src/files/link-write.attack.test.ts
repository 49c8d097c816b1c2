import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { editTool } from './edit-tool.ts';
import { previewChange } from './preview-change.ts';
import { writeTool } from './write-tool.ts';

// A cloned repository contains links. The user approves the path that the model sent.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  execFileSync('git', ['init', '-q', root]);
  writeTree(root, { 'notes/settings.txt': 'a\n', '.vscode/keep': '', 'docs/a.md': 'a\n' });
  mkdirSync(join(root, '.git/hooks'), { recursive: true });
});

const write = (path: string, content = 'x\n') =>
  runTool(writeTool(createWorkspace({ root })), { path, content });
const link = (target: string, path: string) => symlinkSync(target, join(root, path));

test.for([
  ['docs/settings.txt', '../.git/config', 'docs/settings.txt', '.git/config'],
  ['docs/check.sh', '../.git/hooks/pre-commit', 'docs/check.sh', '.git/hooks/pre-commit'],
  ['docs/tasks.json', '../.vscode/tasks.json', 'docs/tasks.json', '.vscode/tasks.json'],
  ['docs/all', '../.git', 'docs/all/config', '.git/config'],
  ['docs/up', '../.git/hooks', 'docs/up/../config', '.git/config'],
  ['.git/alias', 'hooks', '.git/alias/pre-commit', '.git/hooks/pre-commit'],
] as const)(
  'attack: write does not follow the link %s -> %s to a file that runs code',
  async ([from, to, path, real]) => {
    link(to, from);
    const before = existsSync(join(root, real)) && readFileSync(join(root, real), 'utf8');
    const { isError, text } = await write(path);
    expect({ isError, text }).toEqual({
      isError: true,
      text: expect.stringContaining(`it leads through a symbolic link to ${real}`),
    });
    expect(existsSync(join(root, real)) && readFileSync(join(root, real), 'utf8')).toBe(before);
  },
);

test('attack: edit does not follow a link to .git/config', async () => {
  link('../.git/config', 'docs/settings.txt');
  const before = readFileSync(join(root, '.git/config'), 'utf8');
  const edits = [{ old_text: '[core]', new_text: '[core]\n\tfsmonitor = "id"' }];
  const tool = editTool(createWorkspace({ root }));
  expect(await runTool(tool, { path: 'docs/settings.txt', edits })).toMatchObject({
    isError: true,
    text: expect.stringContaining('.git/config'),
  });
  expect(readFileSync(join(root, '.git/config'), 'utf8')).toBe(before);
});

test('attack: a link that replaces the file while the question is open is not followed', async () => {
  const input = { path: 'docs/a.md', content: 'x\n' };
  expect((await asked(input)).decision).toBe('ask');
  rmSync(join(root, 'docs/a.md'));
  link('../.git/config', 'docs/a.md');
  expect(await write('docs/a.md')).toMatchObject({ isError: true });
});

const asked = (input: { readonly path: string; readonly content: string }) => {
  const workspace = createWorkspace({ root });
  const call = { kind: 'tool_call', toolCallId: 'c', name: 'write', arguments: '', input } as const;
  const approve = approveByPolicy(permissionPolicy({ root: workspace.root }), workspace);
  const pending = { call, tool: writeTool(workspace), input, summary: '' };
  return approve(pending as unknown as Parameters<typeof approve>[0]) as Promise<{
    readonly decision: string;
    readonly reason: string;
  }>;
};

test('attack: the reason and the preview of a write through a link name the real file', async () => {
  link('../notes/settings.txt', 'docs/settings.txt');
  const input = { path: 'docs/settings.txt', content: 'b\n' };
  expect((await asked(input)).reason).toContain('docs/settings.txt → notes/settings.txt');
  const workspace = createWorkspace({ root });
  expect(await previewChange(workspace, { tool: 'write', input })).toMatchObject({
    file: 'notes/settings.txt',
    isLinked: true,
  });
});

test('attack: the preview says that a write through a link to .git fails', async () => {
  link('../.git/config', 'docs/settings.txt');
  const input = { path: 'docs/settings.txt', content: 'b\n' };
  expect((await asked(input)).reason).toContain('docs/settings.txt → .git/config');
  expect(await previewChange(createWorkspace({ root }), { tool: 'write', input })).toMatchObject({
    problem: expect.stringContaining('.git/config'),
  });
});

test('a link to another file and the real path of a protected file can be written', async () => {
  link('../notes/settings.txt', 'docs/settings.txt');
  expect(await write('docs/settings.txt', 'b\n')).toMatchObject({ isError: false });
  expect(readFileSync(join(root, 'notes/settings.txt'), 'utf8')).toBe('b\n');
  expect(await write('.git/hooks/pre-commit')).toMatchObject({ isError: false });
  expect(await write(join(createWorkspace({ root }).root, '.git/x'))).toMatchObject({
    isError: false,
  });
  writeFileSync(join(root, 'plain.txt'), '');
  expect(await write('docs/../plain.txt')).toMatchObject({ isError: false });
});
