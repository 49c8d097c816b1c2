import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { editTool } from '../files/edit-tool.ts';
import { previewChange } from '../files/preview-change.ts';
import { readTool } from '../files/read-tool.ts';
import { writeTool } from '../files/write-tool.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import type { OpenBuffers } from './open-buffers.ts';
import { createWorkspace } from './workspace.ts';

let root: string;
let shown: Map<string, string>;
let asked: string[];
let buffers: OpenBuffers;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'one\ntwo\n', 'crlf.txt': 'one\r\ntwo\r\n', 'src/b.txt': 'b\n' });
  shown = new Map();
  asked = [];
  buffers = {
    read: async (path) => {
      asked.push(path);
      return shown.get(path);
    },
    write: async (path, text) => {
      shown.set(path, text);
      writeFileSync(path, text);
    },
  };
});

const show = (name: string, text: string) => shown.set(join(root, name), text);
const open = (more: Partial<OpenBuffers> = {}) =>
  createWorkspace({ root, buffers: { ...buffers, ...more } });
const saved = (name: string) => readFileSync(join(root, name), 'utf8');

test('a file with unsaved changes is read and changed as the editor shows it', async () => {
  show('a.txt', 'one\ntwo\nthree\n');
  const workspace = open();
  expect((await runTool(readTool(workspace), { path: 'a.txt' })).text).toContain('3\tthree');
  const edits = [{ old_text: 'three', new_text: '3' }];
  const preview = await previewChange(workspace, { tool: 'edit', input: { path: 'a.txt', edits } });
  expect(preview).toMatchObject({ added: 1, removed: 1, linesBefore: 3 });
  await runTool(editTool(workspace), { path: 'a.txt', edits });
  expect([...shown.values()]).toEqual(['one\ntwo\n3\n']);
  expect(saved('a.txt')).toBe('one\ntwo\n3\n');
  show('a.txt', 'typed\n');
  const write = await runTool(writeTool(workspace), { path: 'a.txt', content: 'x' });
  expect(write.text).toContain('another process changed it');
});

test('a saved file is written by the workspace, also if the editor shows other line endings', async () => {
  show('crlf.txt', 'one\ntwo\n');
  const write = async () => {
    throw new Error('The editor must not write it');
  };
  const edits = [{ old_text: 'two', new_text: '2' }];
  expect(await runTool(editTool(open({ write })), { path: 'crlf.txt', edits })).toMatchObject({
    isError: false,
  });
  expect(saved('crlf.txt')).toBe('one\r\n2\r\n');
});

test('unsaved text gets the line endings of its file', async () => {
  show('crlf.txt', 'one\ntwo\nthree\n');
  const { bytes } = await open().read('crlf.txt', 1000);
  expect(new TextDecoder().decode(bytes)).toBe('one\r\ntwo\r\nthree\r\n');
});

test('an editor that cannot write keeps its unsaved changes', async () => {
  show('a.txt', 'unsaved\n');
  const workspace = open({ write: undefined });
  await expect(workspace.write('a.txt', new Uint8Array([65]))).rejects.toThrow('unsaved changes');
  expect(saved('a.txt')).toBe('one\ntwo\n');
});

test('the editor is not asked about paths that the workspace refuses', async () => {
  const workspace = open();
  mkdirSync(join(root, 'src/folder'));
  for (const path of ['../outside', 'src/folder', 'none.txt'])
    await expect(workspace.read(path, 1000)).rejects.toThrow();
  await expect(workspace.boundTo(join(root, 'a.txt')).read('src/b.txt', 1000)).rejects.toThrow();
  expect(asked).toEqual([]);
});

test('text that was read while a folder changed is not used', async () => {
  const read = async (path: string) => {
    // Another process replaces the folder for a moment. This changes the time of its parent.
    writeFileSync(join(root, `new-${asked.push(path)}`), '');
    return 'the text of another file\n';
  };
  const { bytes } = await open({ read }).read('src/b.txt', 1000);
  expect(new TextDecoder().decode(bytes)).toBe('b\n');
  expect(asked.length).toBeGreaterThan(1);
});
