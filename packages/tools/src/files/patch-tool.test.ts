import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@millrace/core';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { applyPatch, createdText } from './apply-patch.ts';
import { applyPatchTool } from './patch-tool.ts';
import { previewChange } from './preview-change.ts';
import { decodeText, encodeText } from './text-file.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const put = (content: string, name = 'a.ts') => writeFileSync(join(root, name), content);
const held = (name = 'a.ts') => readFileSync(join(root, name), 'utf8');
const patch = (operation: JsonObject) =>
  runTool(applyPatchTool(createWorkspace({ root })), { path: 'a.ts', ...operation });
const update = (diff: string) => patch({ type: 'update_file', diff });

/** Returns the text after a patch, or the problem. */
function patched(text: string, diff: string): string {
  const file = decodeText(new TextEncoder().encode(text));
  if (file === undefined) throw new Error('not text');
  const outcome = applyPatch(file, diff);
  return outcome.ok ? new TextDecoder().decode(encodeText(outcome.file)) : outcome.problem;
}

describe('the tool', () => {
  test('answers the built-in tool of OpenAI', () => {
    const tool = applyPatchTool(createWorkspace({ root }));
    expect(tool.answers).toBe('openai.apply_patch');
    expect(tool.summarize({ type: 'delete_file', path: 'a.ts' })).toBe('Delete a.ts');
  });

  test('changes a file and shows the change', async () => {
    put('one\ntwo\nthree\n');
    expect(await update('@@\n one\n-two\n+TWO\n three\n')).toMatchObject({
      text: 'Patched a.ts: 1 line added, 1 line removed\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three',
      value: { path: 'a.ts', added: 1, removed: 1 },
      isError: false,
    });
    expect(held()).toBe('one\nTWO\nthree\n');
  });

  test('changes nothing if a section does not fit', async () => {
    put('one\ntwo\n');
    const { text, isError } = await update('@@\n-one\n+ONE\n@@\n-three\n+THREE\n');
    expect(isError).toBe(true);
    expect(text).toContain('Section 2 of 2: These lines are not in the rest of the file: "three"');
    expect(held()).toBe('one\ntwo\n');
  });

  test('creates a file, but never replaces one', async () => {
    const diff = '+one\n+\n+two\n';
    expect(await patch({ type: 'create_file', path: 'x/b.ts', diff })).toMatchObject({
      text: 'Created x/b.ts: 3 lines',
      isError: false,
    });
    expect(held('x/b.ts')).toBe('one\n\ntwo\n');
    const again = await patch({ type: 'create_file', path: 'x/b.ts', diff: '+three' });
    expect(again).toMatchObject({ isError: true, thrown: { code: 'exists' } });
    expect(held('x/b.ts')).toBe('one\n\ntwo\n');
    expect(await patch({ type: 'create_file', path: 'c.ts', diff: 'one' })).toMatchObject({
      isError: true,
    });
    expect(existsSync(join(root, 'c.ts'))).toBe(false);
  });

  test('deletes a link and not its target, also if the target is elsewhere or missing', async () => {
    put('one\n');
    mkdirSync(join(root, 'x'));
    const outside = join(temporaryFolder(), 'b.ts');
    writeFileSync(outside, 'two');
    for (const target of ['a.ts', 'x', 'gone', outside, '.git/config']) {
      symlinkSync(target, join(root, 'link'));
      const workspace = createWorkspace({ root });
      const input = { type: 'delete_file', path: 'link' };
      expect(await previewChange(workspace, { tool: 'apply_patch', input })).toMatchObject({
        ...{ file: 'link', isLinked: false, removed: 1 },
        diff: `@@ -1,1 +0,0 @@\n-${target}\n\\ No newline at end of file`,
      });
      expect(await patch(input)).toMatchObject({ text: 'Deleted link' });
      expect(lstatSync(join(root, 'link'), { throwIfNoEntry: false })).toBeUndefined();
    }
    expect([held(), existsSync(join(root, 'x'))]).toEqual(['one\n', true]);
    expect(readFileSync(outside, 'utf8')).toBe('two');
  });

  test('deletes no link that is outside, or in a protected folder behind a link', async () => {
    put('one\n');
    const outside = temporaryFolder();
    mkdirSync(join(root, '.git'));
    symlinkSync(outside, join(root, 'out'));
    symlinkSync('.git', join(root, 'all'));
    for (const path of [join(outside, 'link'), join(root, '.git/link')])
      symlinkSync(join(root, 'a.ts'), path);
    const codes = await Promise.all(
      ['out/link', join(outside, 'link'), 'all/link'].map(async (path) => {
        const { thrown } = await patch({ type: 'delete_file', path });
        return (thrown as { code?: string }).code;
      }),
    );
    expect(codes).toEqual(['outside', 'outside', 'protected_link']);
    expect(lstatSync(join(root, '.git/link')).isSymbolicLink()).toBe(true);
  });

  test('deletes a file, but neither folders nor files outside', async () => {
    put('one\n');
    expect(await patch({ type: 'delete_file' })).toMatchObject({ text: 'Deleted a.ts' });
    expect(existsSync(join(root, 'a.ts'))).toBe(false);
    mkdirSync(join(root, 'x'));
    const outside = join(temporaryFolder(), 'b.ts');
    writeFileSync(outside, 'two');
    const codes = await Promise.all(
      ['a.ts', 'x', 'x/', '.', '../b.ts', outside].map(
        async (path) => (await patch({ type: 'delete_file', path })).thrown,
      ),
    );
    expect(codes.map((error) => (error as { code?: string }).code)).toEqual([
      'not_found',
      'folder',
      'folder',
      'folder',
      'outside',
      'outside',
    ]);
    expect(readFileSync(outside, 'utf8')).toBe('two');
  });

  test('needs the permission to write the path, and wide approvals do not cover it', async () => {
    const workspace = createWorkspace({ root });
    const tool = applyPatchTool(workspace);
    const rules = [{ path: '.env', decision: 'deny' } as const];
    const approve = approveByPolicy(permissionPolicy({ root, rules }), workspace, {
      lasting: 'wide',
    });
    const decide = (path: string) => {
      const input = { type: 'delete_file', path };
      const call = { kind: 'tool_call', toolCallId: 'c' as never, name: tool.name, arguments: '' };
      return approve({ name: tool.name, call: call as never, tool, input, summary: '' });
    };
    expect(await decide('.env')).toMatchObject({ decision: 'deny' });
    // The policy checks the path of the link and not its target, because the target stays.
    mkdirSync(join(root, 'secret'));
    symlinkSync('secret', join(root, 'alias'));
    symlinkSync('../a.ts', join(root, 'secret/.env'));
    symlinkSync('.env', join(root, 'link'));
    expect(await decide('alias/.env')).toMatchObject({ decision: 'deny' });
    expect(await decide('link')).toMatchObject({
      decision: 'ask',
      judged: join(workspace.root, 'link'),
    });
    expect(await decide('a.ts')).toMatchObject({
      decision: 'ask',
      rule: expect.stringContaining('"exact":true'),
    });
  });

  test('is shown to the person who approves it', async () => {
    put('one\ntwo\n');
    const workspace = createWorkspace({ root });
    const preview = (input: JsonObject) =>
      previewChange(workspace, { tool: 'apply_patch', input: { path: 'a.ts', ...input } });
    expect(await preview({ type: 'update_file', diff: '-two\n+2' })).toMatchObject({
      diff: '@@ -1,2 +1,2 @@\n one\n-two\n+2',
    });
    expect(await preview({ type: 'delete_file' })).toMatchObject({ added: 0, removed: 2 });
    expect(await preview({ type: 'create_file', diff: '+1' })).toMatchObject({
      problem: 'The file exists already',
    });
    expect(await preview({ type: 'create_file', path: 'b.ts', diff: '+1' })).toMatchObject({
      added: 1,
    });
    expect(await preview({ type: 'update_file', diff: '-3\n+4' })).toMatchObject({
      problem: expect.stringContaining('not in the file'),
    });
  });
});

describe('a patch', () => {
  test.each([
    ['an anchor chooses the place', 'a\nx\nb\nx\n', '@@ b\n-x\n+y', 'a\nx\nb\ny\n'],
    ['several anchors', 'A\nf\nx\nB\nf\nx\n', '@@ B\n@@ f\n-x\n+y', 'A\nf\nx\nB\nf\ny\n'],
    ['sections in order', 'x\nx\n', '@@\n-x\n+y\n@@\n-x\n+z', 'y\nz\n'],
    ['the end of the file', 'x\ny\nx\n', '@@\n-x\n+z\n*** End of File', 'x\ny\nz\n'],
    ['an insertion at the end', 'x\n', '@@\n+y\n*** End of File', 'x\ny\n'],
    ['an insertion after an anchor', 'f {\n}\n', '@@ f {\n+  x', 'f {\n  x\n}\n'],
    ['a removal', 'a\nb\nc\n', ' a\n-b\n c', 'a\nc\n'],
    ['a file without a last line break', 'a\nb', '-b\n+c', 'a\nc'],
    ['a removal of its last line', 'a\nb', '-b', 'a'],
    ['other spaces at the end', 'a  \nb\n', ' a\n-b\n+c', 'a  \nc\n'],
    ['another indentation', '\ta\n\tb\n', ' a\n-b\n+\tc', '\ta\n\tc\n'],
    ['line endings', 'a\r\nb\r\n', ' a\n-b\n+c', 'a\r\nc\r\n'],
    ['line numbers', 'a\nb\n', '@@ -1,2 +1,2 @@\n a\n-b\n+c', 'a\nc\n'],
    ['a frame', 'a\n', '*** Begin Patch\n*** Update File: a.ts\n@@\n-a\n+b\n*** End Patch', 'b\n'],
  ])('%s', (_name, before, diff, after) => {
    expect(patched(before, diff)).toBe(after);
  });

  test('with an unknown line or without any is refused', () => {
    expect(patched('a\n', '@@\n-a\n?b')).toBe(
      'Line 3 of the patch starts with none of space, -, + and @@',
    );
    expect(patched('a\n', '@@')).toBe('The patch is empty');
    expect(patched('a\n', '@@ b\n-a\n+c')).toBe('The line "b" is not in the rest of the file');
    expect(createdText('a')).toBeUndefined();
  });

  test('from any file to any other is applied', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', ' c', '', '\td'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, fc.boolean(), (before, after, hasEnd) => {
        const end = hasEnd && before.length > 0 ? '\n' : '';
        const text = before.join('\n') + end;
        fc.pre(before.length > 0 && (text !== '' || hasEnd));
        const diff = [
          '@@',
          ...before.map((line) => `-${line}`),
          ...after.map((line) => `+${line}`),
        ].join('\n');
        fc.pre(hasEnd || before.at(-1) !== '');
        const expected = after.join('\n') + (after.length > 0 ? end : '');
        expect(patched(text, diff)).toBe(expected);
      }),
      { numRuns: runs(300) },
    );
  });
});
