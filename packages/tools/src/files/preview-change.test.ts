import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { previewChange } from './preview-change.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
  writeTree(root, { 'a.txt': 'one\ntwo\nthree\n', 'empty.txt': '' });
});

const preview = (tool: string, input: unknown) =>
  previewChange(createWorkspace({ root }), { tool, input });

test('a write is compared with the current content', async () => {
  expect(await preview('write', { path: 'a.txt', content: 'one\n2\nthree\n' })).toEqual({
    ...{ diff: '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three', added: 1, removed: 1, linesBefore: 3 },
    ...{ file: 'a.txt', isLinked: false },
    basis: expect.stringMatching(/^sha256:/),
  });
  expect(await preview('write', { path: 'new.txt', content: 'a\n' })).toEqual({
    ...{ diff: '@@ -0,0 +1,1 @@\n+a', added: 1, removed: 0, linesBefore: undefined },
    ...{ file: 'new.txt', isLinked: false, basis: 'absent' },
  });
  const same = await preview('write', { path: 'a.txt', content: 'one\ntwo\nthree\n' });
  expect(same).toMatchObject({ diff: '', linesBefore: 3 });
  expect(await preview('write', { path: 'empty.txt', content: 'a' })).toMatchObject({
    linesBefore: 0,
  });
});

test('an edit is shown with its line numbers and the lines around it', async () => {
  const edits = [{ old_text: 'two', new_text: 'zwei' }];
  expect(await preview('edit', { path: 'a.txt', edits })).toMatchObject({
    diff: '@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three',
    linesBefore: 3,
  });
});

test('a change that would fail is reported', async () => {
  const edits = [{ old_text: 'four', new_text: 'vier' }];
  expect((await preview('edit', { path: 'a.txt', edits }))?.problem).toContain('old_text');
  expect((await preview('edit', { path: 'none', edits }))?.problem).toBe('The file does not exist');
  writeFileSync(join(root, 'picture'), Buffer.from([0xff, 0xfe, 0x00]));
  const over = await preview('write', { path: 'picture', content: 'a' });
  expect(over).toMatchObject({ diff: '', problem: expect.stringContaining('not text') });
});

test.each([
  ['bash', { command: 'ls' }],
  ['write', { path: 'a.txt' }],
  ['write', { path: 1, content: 'a' }],
  ['edit', { path: 'a.txt', edits: [{ old_text: 1 }] }],
  ['edit', { path: 'a.txt', edits: [{ old_text: '', new_text: 'a' }] }],
  ['edit', null],
  ['write', { path: '../x', content: 'a' }],
])('%s %j has no preview', async (tool, input) => {
  expect(await preview(tool, input)).toBeUndefined();
});
