import type { JsonValue } from '@millrace/core';
import { expect, test } from 'vitest';
import { english } from '../../labels/en.ts';
import { diffLines, findDiff, inputDiff } from './diff.ts';

test('lines have the numbers of the diff', () => {
  const lines = diffLines('@@ -3,2 +3,3 @@\n same\n-old\n+new\n+more');
  expect(lines.map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ['hunk', undefined, undefined],
    ['same', 3, 3],
    ['removed', 4, undefined],
    ['added', undefined, 4],
    ['added', undefined, 5],
  ]);
});

test('a removed line that looks like a header is a removed line', () => {
  const [, line] = diffLines('@@ -1 +0,0 @@\n--- not a header');
  expect(line).toMatchObject({ kind: 'removed', text: '-- not a header' });
});

test('18.1079: attack: the first line of a new file looks like the header of a diff', () => {
  const { diff = '' } = inputDiff('write', { content: '++ $(evil)\n-- b' }, english) ?? {};
  expect(diffLines(diff, false)).toMatchObject([
    { kind: 'added', text: '++ $(evil)' },
    { kind: 'added', text: '-- b' },
  ]);
});

test('a diff is found in tool output, and other text is not', () => {
  expect(findDiff('Edited a.ts\n@@ -1,1 +1,1 @@\n-a\n+b\n')).toEqual({
    textBefore: 'Edited a.ts',
    diff: '@@ -1,1 +1,1 @@\n-a\n+b',
  });
  expect(findDiff('--- a/x\n+++ b/x\n@@ -1 +1 @@')?.textBefore).toBe('');
  expect(findDiff('- a list\n- of things\n--- \n@@ nothing')).toBeUndefined();
});

const diffOf = (name: string, input: JsonValue) => inputDiff(name, input, english)?.diff;

test('an edit shows its change, also while it streams', () => {
  const edits = [{ old_text: 'a\nb', new_text: 'c\n' }, { old_text: 'half' }];
  expect(diffOf('edit', { path: 'x', edits })).toBe('@@ @@\n-a\n-b\n+c\n@@ @@\n-half');
  expect(diffOf('write', { path: 'x', content: 'a\n\nb\n' })).toBe('+a\n+\n+b');
  expect(inputDiff('read', { content: 'a' }, english)).toBeUndefined();
  expect(inputDiff('edit', null, english)).toBeUndefined();
});

test('an edit shows that it replaces every occurrence, and its other fields', () => {
  const texts = { old_text: 'a', new_text: 'b' };
  const headOf = (edit: JsonValue) => diffOf('edit', { edits: [edit] })?.split('\n')[0];
  expect(headOf({ ...texts, replace_all: true })).toBe('@@ replaces every occurrence @@');
  expect(headOf({ ...texts, replace_all: false })).toBe('@@ @@');
  expect(headOf({ ...texts, replace_all: 'yes' })).toBe('@@ "replace_all": "yes" @@');
  expect(headOf({ ...texts, mode: 'x\ny' })).toBe('@@ "mode": "x\\ny" @@');
  expect(headOf({ old_text: 'a', new_text: 7 })).toBe('@@ "new_text": 7 @@');
  expect(headOf('what is this')).toBe('@@ "what is this" @@');
});

test('only the field of the diff is not shown separately', () => {
  const input = { path: 'x', content: 'c', edits: [{ old_text: 'a', new_text: 'b' }] };
  expect(inputDiff('edit', input, english)?.field).toBe('edits');
  expect(inputDiff('write', input, english)?.field).toBe('content');
});

test('Windows line ends are line ends, and a single carriage return is not', () => {
  expect(diffOf('write', { content: 'a\r\nb\r\n' })).toBe('+a\r\n+b\r');
  expect(diffOf('write', { content: 'a\rb\u2028c' })).toBe('+a\rb\u2028c');
});
