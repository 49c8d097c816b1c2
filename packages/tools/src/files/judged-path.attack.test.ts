import {
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CheckedToolCall, createAgent, type Tool } from '@millrace/agent';
import { type JsonObject, type Part, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import type { PermissionRule } from '../permissions/permission-rule.ts';
import { globTool } from '../search/glob-tool.ts';
import { grepTool } from '../search/grep-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace, type Workspace } from '../workspace/workspace.ts';
import { editTool } from './edit-tool.ts';
import { lsTool } from './ls-tool.ts';
import { applyPatchTool } from './patch-tool.ts';
import { readTool } from './read-tool.ts';
import { writeTool } from './write-tool.ts';

// The workspace is the home folder. A command in the sandbox replaces a file by a link, after the policy
// checked the path and before the tool opens it.

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  const { HOME } = process.env;
  process.env['HOME'] = root;
  onTestFinished(() => {
    process.env['HOME'] = HOME;
  });
  writeTree(root, {
    ...{ 'notes.txt': 'harmless\n', 'notes/a.txt': 'harmless\n', 'bin/tool': 'good\n' },
    ...{
      '.ssh/id_rsa': 'PRIVATE KEY\n',
      '.ssh/config': 'PRIVATE HOST\n',
      '.config/hub/token': 'TOKEN\n',
      'other.txt': 'other\n',
    },
  });
});

function flip(path: string, target: string): void {
  rmSync(join(root, path), { recursive: true });
  symlinkSync(target, join(root, path));
}

function allTools(workspace: Workspace): readonly Tool[] {
  const files = [readTool, lsTool, writeTool, editTool, applyPatchTool];
  return [
    ...files.map((make) => make(workspace)),
    ...[grepTool({ workspace }), globTool({ workspace })],
  ];
}

interface Attack {
  readonly call: readonly [name: string, input: JsonObject];
  readonly rules?: readonly PermissionRule[];
  /** Called after the policy has decided and before the user answers. */
  readonly flip: () => void;
}

/** Runs a call. If the policy asks, the user approves the call. */
async function attack({ call: [name, input], rules = [], flip: change }: Attack) {
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({ root: workspace.root, rules });
  const byPolicy = approveByPolicy(policy, workspace);
  let isFlipped = false;
  const approve = async (pending: CheckedToolCall) => {
    const ruling = await byPolicy(pending);
    if (!isFlipped) change();
    isFlipped = true;
    return ruling;
  };
  const call = toolCallPart(toolCallId('c'), name, input);
  const provider = scriptedProvider([{ content: { parts: [call] } }, 'Done.']);
  const run = createAgent({ provider, tools: allTools(workspace), approve }).run('Go');
  let asked = 0;
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked++;
    await run.approve(event.toolCallId);
  }
  const parts = (await run.result).items.flatMap((item): readonly Part[] => item.parts);
  const [result] = parts.filter((part) => part.kind === 'tool_result');
  return { asked, text: result?.text ?? '', isError: result?.isError };
}

const edits = [{ old_text: 'good', new_text: 'EVIL' }];
const diff = '@@\n-good\n+EVIL';
const allowed = [{ path: '**', decision: 'allow' }] as const;

test.for<readonly [string, string, string, JsonObject]>([
  ['notes.txt', '.ssh/id_rsa', 'read', { path: 'notes.txt' }],
  ['notes.txt', '.config/hub/token', 'read', { path: 'notes.txt' }],
  ['notes', '.ssh', 'read', { path: 'notes/config' }],
  ['notes', '.ssh', 'ls', { path: 'notes' }],
  ['notes', '.ssh', 'grep', { pattern: '.', path: 'notes' }],
  ['notes.txt', '.ssh/id_rsa', 'grep', { pattern: '.', path: 'notes.txt' }],
  ['notes', '.ssh', 'glob', { pattern: '*', path: 'notes' }],
])('attack: %s becomes a link to %s before %s opens it', async ([from, to, name, input]) => {
  const { asked, text, isError } = await attack({
    call: [name, input],
    flip: () => flip(from, to),
  });
  expect({ asked, isError }).toEqual({ asked: 0, isError: true });
  expect(text).not.toMatch(/PRIVATE|TOKEN/);
  expect(text).toContain('when the call was allowed');
});

test.for<readonly [string, string, string, JsonObject]>([
  ['notes.txt', 'bin/tool', 'write', { path: 'notes.txt', content: 'EVIL' }],
  ['notes', 'bin', 'write', { path: 'notes/tool', content: 'EVIL' }],
  ['notes.txt', 'bin/tool', 'edit', { path: 'notes.txt', edits }],
  ['notes.txt', 'bin/tool', 'apply_patch', { type: 'update_file', path: 'notes.txt', diff }],
  ['notes', 'bin', 'apply_patch', { type: 'delete_file', path: 'notes/tool' }],
])('attack: %s becomes a link to %s before %s changes it', async ([from, to, name, input]) => {
  for (const rules of [allowed, []]) {
    rmSync(join(root, from), { recursive: true });
    if (from === 'notes') mkdirSync(join(root, from));
    else writeFileSync(join(root, from), 'good\n');
    const { text, isError } = await attack({
      ...{ call: [name, input], rules, flip: () => flip(from, to) },
    });
    expect({ text, isError }).toEqual({
      text: expect.stringContaining('when the call was allowed'),
      isError: true,
    });
    expect(readFileSync(join(root, 'bin/tool'), 'utf8')).toBe('good\n');
  }
});

test('attack: a file that becomes a link before it is deleted leaves the target of the link', async () => {
  const { isError } = await attack({
    call: ['apply_patch', { type: 'delete_file', path: 'notes.txt' }],
    rules: allowed,
    flip: () => flip('notes.txt', 'bin/tool'),
  });
  expect(isError).toBe(false);
  expect(readFileSync(join(root, 'bin/tool'), 'utf8')).toBe('good\n');
  expect(lstatSync(join(root, 'notes.txt'), { throwIfNoEntry: false })).toBeUndefined();
});

test('attack: a path that led nowhere when it was judged is not used later', async () => {
  const { text, isError } = await attack({
    call: ['read', { path: 'gone/../id_rsa' }],
    flip: () => {
      symlinkSync('.ssh/x', join(root, 'gone'));
      mkdirSync(join(root, '.ssh/x'));
    },
  });
  expect({ text, isError }).toMatchObject({ isError: true });
  expect(text).toContain('led nowhere');
});

test('attack: a question about a link is an approval of its target only', async () => {
  flip('notes.txt', 'other.txt');
  const { asked, isError, text } = await attack({
    call: ['write', { path: 'notes.txt', content: 'EVIL' }],
    flip: () => {
      rmSync(join(root, 'notes.txt'));
      symlinkSync('bin/tool', join(root, 'notes.txt'));
    },
  });
  expect({ asked, isError }).toEqual({ asked: 1, isError: true });
  expect(text).toContain(`led to ${join(root, 'other.txt')}`);
});

test('attack: a workspace whose folder became a link elsewhere is not used', async () => {
  const [inner, elsewhere] = [join(root, 'a/b'), join(root, 'c/b')];
  for (const path of [inner, elsewhere]) mkdirSync(path, { recursive: true });
  writeFileSync(join(elsewhere, 'f'), 'elsewhere');
  const workspace = createWorkspace({ root: inner });
  renameSync(join(root, 'a'), join(root, 'kept'));
  symlinkSync('c', join(root, 'a'));
  await expect(workspace.read('f', 100)).rejects.toMatchObject({ code: 'changed' });
  await expect(workspace.write('f', new Uint8Array())).rejects.toMatchObject({ code: 'changed' });
  await expect(workspace.list('.', 10)).rejects.toMatchObject({ code: 'changed' });
});

test('a file that another program replaced is still read and written', async () => {
  const replace = () => {
    writeFileSync(join(root, 'next'), 'good, again\n');
    renameSync(join(root, 'next'), join(root, 'notes.txt'));
  };
  const read = await attack({ call: ['read', { path: 'notes.txt' }], flip: replace });
  expect(read).toMatchObject({ isError: false, text: expect.stringContaining('good, again') });
  const edit = await attack({ call: ['edit', { path: 'notes.txt', edits }], flip: replace });
  expect(edit).toMatchObject({ asked: 1, isError: false });
});
