import {
  type DraftRecord,
  itemId,
  type JsonObject,
  type Part,
  partId,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { expect, test } from 'vitest';
import { factDraft, foldDrafts } from '../../testing/records.ts';
import { artifactsOf, findVersion } from './artifacts.ts';

/** Folds a session with these parts: texts and calls of the agent, and results of tools. */
function sessionOf(parts: readonly Part[]) {
  const drafts = parts.flatMap((part, at): DraftRecord[] => {
    const id = itemId(`i${at}`);
    const kind = part.kind === 'tool_result' ? 'tool' : 'assistant';
    return [
      factDraft({ type: 'item_started', itemId: id, kind }),
      {
        ...{ turn: 0, attempt: 0 },
        delta: { type: 'commit_part', partId: partId(0, 0, `p${at}`), itemId: id, part },
      },
      factDraft({ type: 'item_finished', itemId: id }),
    ];
  });
  return { state: foldDrafts(drafts).state };
}

const page = (word: string) => `<!doctype html>\n${`<p>${word}</p>\n`.repeat(14)}`.trimEnd();
const block = (info: string, text: string): Part => ({
  ...{ kind: 'text', text: `Here:\n\n\`\`\`${info}\n${text}\n\`\`\`\n\nThat is it.` },
});
const write = (id: string, input: JsonObject, name = 'write') =>
  toolCallPart(toolCallId(id), name, input);
const result = (id: string, isError = false): Part => ({
  ...{ kind: 'tool_result', toolCallId: toolCallId(id), name: 'write', text: '', isError },
});
const names = (parts: readonly Part[]) =>
  artifactsOf(sessionOf(parts)).map(({ name, kind, versions }) => [name, kind, versions.length]);

test('long code blocks are artifacts, and a later one of the same name is a version', () => {
  expect(
    names([
      block('html', page('one')),
      block('html', page('two')),
      block('svg logo.svg', page('svg')),
      block('jsx title="Clock"', page('jsx')),
      block('tsx', page('tsx')),
      block('ts', page('ts')),
    ]),
  ).toEqual([
    ['page.html', 'html', 2],
    ['logo.svg', 'svg', 1],
    ['Clock', 'react', 1],
    ['component.jsx', 'react', 1],
  ]);
});

test('short blocks, open blocks and repeated texts are no artifacts', () => {
  const open: Part = { kind: 'text', text: `\`\`\`html\n${page('x')}` };
  expect(names([block('html', '<p>short</p>'), open])).toEqual([]);
  expect(names([block('html', page('a')), block('html', page('a'))])).toEqual([
    ['page.html', 'html', 1],
  ]);
});

test('a block in a longer fence keeps shorter fences as text', () => {
  const inner = `\`\`\`js\nx\n\`\`\`\n${page('x')}`;
  const parts: readonly Part[] = [{ kind: 'text', text: `\`\`\`\`html\n${inner}\n\`\`\`\`` }];
  expect(artifactsOf(sessionOf(parts))[0]?.versions[0]?.text).toBe(inner);
});

test('a file that a tool has written is an artifact, and a failed or open call writes none', () => {
  const file = { path: 'site/index.html', content: '<p>1</p>' };
  expect(names([write('a', file)])).toEqual([]);
  expect(names([write('a', file), result('a', true)])).toEqual([]);
  expect(
    names([
      ...[write('a', file), result('a')],
      ...[write('b', { ...file, content: '<p>2</p>' }), result('b')],
      ...[write('c', { path: 'notes.md', content: 'x' }), result('c')],
      ...[write('d', file, 'read'), result('d')],
      ...[write('e', { path: 4, content: null }), result('e')],
    ]),
  ).toEqual([['site/index.html', 'html', 2]]);
});

test('the list is the same object until an item changes', () => {
  const session = sessionOf([block('html', page('one'))]);
  expect(artifactsOf(session)).toBe(artifactsOf(session));
});

test('a code block finds its version', () => {
  const all = artifactsOf(sessionOf([block('html', page('one')), block('html', page('two'))]));
  expect(findVersion(all, `${page('one')}\n`)).toEqual({
    ...{ name: 'page.html', at: 0, key: all[0]?.versions[0]?.key },
  });
  expect(findVersion(all, page('three'))).toBeUndefined();
});

test('attack: many and long documents are bounded', () => {
  const many = Array.from({ length: 150 }, (_, at) => block(`html f${at}.html`, page(`${at}`)));
  expect(names(many)).toHaveLength(100);
  const versions = Array.from({ length: 150 }, (_, at) => block('html', page(`${at}`)));
  expect(names(versions)).toEqual([['page.html', 'html', 100]]);
  expect(names([block('html', 'x'.repeat(500_001))])).toEqual([]);
});
