import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tool } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace, type Workspace } from '../workspace/workspace.ts';
import { editTool } from './edit-tool.ts';
import { applyPatchTool } from './patch-tool.ts';
import { previewChange } from './preview-change.ts';
import { writeTool } from './write-tool.ts';

// A person approves a change and names the state of the file that the preview was computed from (`basis`). The tools
// must not change a file in a different state.

interface Case {
  readonly make: (workspace: Workspace) => Tool;
  readonly input: JsonObject;
  /** The content of a.txt when the user sees the preview. Undefined if there is no file. */
  readonly before: string | Uint8Array | undefined;
  /** The content of a.txt when the call runs. Undefined if there is no file. */
  readonly after: string | undefined;
}

const edits = [{ old_text: 'deny', new_text: 'allow', replace_all: true }];
const path = 'a.txt';
const cases: readonly (readonly [string, Case])[] = [
  [
    'edit with replace_all',
    { make: editTool, input: { path, edits }, before: 'deny\n', after: 'deny\ndeny\n' },
  ],
  [
    'edit that failed in the preview',
    { make: editTool, input: { path, edits }, before: 'none\n', after: 'deny\n' },
  ],
  [
    'edit of a file that was no text',
    { make: editTool, input: { path, edits }, before: new Uint8Array([255]), after: 'deny\n' },
  ],
  [
    'edit of other line endings',
    { make: editTool, input: { path, edits }, before: 'deny\n', after: 'deny\r\n' },
  ],
  [
    'write of a new file',
    { make: writeTool, input: { path, content: 'x' }, before: undefined, after: 'notes\n' },
  ],
  [
    'write over a file',
    { make: writeTool, input: { path, content: 'x' }, before: 'deny\n', after: 'notes\n' },
  ],
  [
    'write over a file that was no text',
    { make: writeTool, input: { path, content: 'x' }, before: new Uint8Array([255]), after: 'n\n' },
  ],
  [
    'write over a file that is gone',
    { make: writeTool, input: { path, content: 'x' }, before: 'deny\n', after: undefined },
  ],
  [
    'patch with a place that moved',
    {
      make: applyPatchTool,
      input: { type: 'update_file', path, diff: '@@\n-  deny\n+  allow\n' },
      before: 'a:\n  deny\n',
      after: 'a:\n  none\nb:\n  deny\n',
    },
  ],
  [
    'patch that deletes',
    { make: applyPatchTool, input: { type: 'delete_file', path }, before: 'x\n', after: 'y\n' },
  ],
];

function put(file: string, content: string | Uint8Array | undefined): void {
  rmSync(file, { force: true });
  if (content !== undefined) writeFileSync(file, content);
}

function open() {
  const root = temporaryFolder();
  return { workspace: createWorkspace({ root }), file: join(root, path), root };
}

test.for(cases)(
  '18.1007: attack: an approved %s runs in another state of the file',
  async ([, { make, input, before, after }]) => {
    const { workspace, file } = open();
    const tool = make(workspace);
    put(file, before);
    const preview = await previewChange(workspace, { tool: tool.name, input });
    put(file, after);
    const result = await runTool(tool, input, { basis: preview?.basis });
    expect(result).toMatchObject({ isError: true, thrown: { code: 'changed' } });
    expect(result.text).toContain('Read it again');
    if (after === undefined) expect(() => readFileSync(file)).toThrow(/ENOENT/);
    else expect(readFileSync(file, 'utf8')).toBe(after);
  },
);

test.for(cases.filter(([name]) => !/failed|edit of a file/.test(name)))(
  '18.1007: an approved %s runs in the state of its preview',
  async ([, { make, input, before }]) => {
    const { workspace, file } = open();
    const tool = make(workspace);
    put(file, before);
    const preview = await previewChange(workspace, { tool: tool.name, input });
    expect(preview?.basis).toMatch(/^(?:absent|sha256:[0-9a-f]{64})$/);
    const { isError, text } = await runTool(tool, input, { basis: preview?.basis });
    expect({ isError, text }).toMatchObject({ isError: false });
  },
);

test('18.1007: attack: an approved patch deletes a link that leads to another file now', async () => {
  const { workspace, file, root } = open();
  for (const name of ['one', 'two']) writeFileSync(join(root, name), name);
  symlinkSync('one', file);
  const input = { type: 'delete_file', path };
  const preview = await previewChange(workspace, { tool: 'apply_patch', input });
  rmSync(file);
  symlinkSync('two', file);
  const tool = applyPatchTool(workspace);
  expect(await runTool(tool, input, { basis: preview?.basis })).toMatchObject({ isError: true });
  expect(readFileSync(file, 'utf8')).toBe('two');
  const now = await previewChange(workspace, { tool: 'apply_patch', input });
  expect(await runTool(tool, input, { basis: now?.basis })).toMatchObject({ isError: false });
});
