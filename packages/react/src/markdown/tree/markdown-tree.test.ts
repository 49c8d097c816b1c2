import { parseInline, tableHead, tableRow } from '@millrace/markdown';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isFull, runs } from '../../../../core/src/testing/runs.ts';
import { hostileTexts } from '../../../../markdown/src/testing/hostile-markdown.ts';
import { randomMarkdown, wordsOf } from '../../../../markdown/src/testing/random-markdown.ts';
import type { GrowingList } from './growing-list.tsx';
import type { MarkdownNode } from './markdown-node.ts';
import { MarkdownTree } from './markdown-tree.ts';

const piece = fc.constantFrom(
  ...[
    '# Title\n',
    'words ',
    'more words\n',
    '\n\n',
    '- item\n',
    '  - inner\n',
    '1. first\n',
    '-',
    '*',
  ],
  ...[
    '```ts\n',
    'let a = 1;\n',
    '```\n',
    '> quoted\n',
    '| a | b |\n',
    '|---|---|\n',
    '| 1 | 2 |\n',
  ],
  ...['**bold**', '`code`', '---\n', '<b>no</b>\n', '[x](http://a.b)', '    indented\n', '==\n'],
);
const simple = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
const text = fc.oneof(simple, randomMarkdown);
const cuts = fc.array(fc.nat(), { maxLength: 30 });

type Nodes = GrowingList<MarkdownNode>;

interface Step {
  readonly end: number;
  readonly nodes: Nodes;
}

/** Reads longer and longer starts of a text with one tree. */
function grown(source: string, at: readonly number[]) {
  const tree = new MarkdownTree();
  const ends = [...new Set(at.map((cut) => cut % (source.length + 1)))].toSorted((a, b) => a - b);
  const steps = ends.map((end): Step => ({ end, nodes: tree.read(source.slice(0, end), false) }));
  return { tree, steps };
}

/** Returns the source text of all nodes, without the marks of blocks. */
function textOf(nodes: Nodes): string {
  return [...nodes].map(textOfNode).join('\n');
}

function textOfNode(node: MarkdownNode): string {
  switch (node.kind) {
    case 'heading':
    case 'paragraph':
      return node.text;
    case 'table':
      return [node.head, node.under, ...[...node.parts].flat()].join('\n');
    case 'code':
      return [node.info, ...node.pieces].join('\n');
    case 'html':
    case 'plain':
      return [...node.pieces].join('');
    case 'rule':
      return '';
    case 'details':
      return [node.summary, textOf(node.children)].join('\n');
    case 'quote':
    case 'footnote':
      return textOf(node.children);
    case 'list':
      return [...node.items].map(({ children }) => textOf(children)).join('\n');
  }
}

const lettersOf = (source: string) => source.replaceAll(/[^a-zA-Z]/g, '');

/**
 * Returns the last lines of a text if they may be held back: a table with up to three rows, or the
 * start of a table.
 */
function undecided(source: string): string {
  const lines = source.split(/\r\n|\r|\n/).slice(-7);
  const from = lines.findIndex((line) => line.includes('|'));
  // The previous line may be the head of the table.
  return from === -1 ? '' : lines.slice(Math.max(0, from - 1)).join('\n');
}

describe('text that grows', () => {
  test('ends as text that is read at once', () => {
    fc.assert(
      fc.property(text, cuts, (source, at) => {
        const { tree } = grown(source, at);
        expect(tree.read(source, true)).toEqual(new MarkdownTree().read(source, true));
      }),
      { numRuns: runs(1000) },
    );
  });

  test('keeps all nodes but the last two as the same objects', () => {
    fc.assert(
      fc.property(text, cuts, (source, at) => {
        const { tree, steps } = grown(source, at);
        const all = [...steps.map(({ nodes }) => nodes), tree.read(source, true)];
        for (const [step, before] of all.entries()) {
          const after = [...(all[step + 1] ?? before)];
          for (const [index, node] of [...before].slice(0, -2).entries())
            expect(after[index]).toBe(node);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  test('keeps all items of a list but the last two as the same objects', () => {
    const tree = new MarkdownTree();
    const items = (count: number) => {
      const [list] = tree.read('1. item\n   - inner\n\n   text\n'.repeat(count), false);
      return list?.kind === 'list' ? [...list.items] : [];
    };
    const before = items(100);
    const after = items(200);
    expect(before).toHaveLength(100);
    expect(after).toHaveLength(200);
    for (const [index, item] of before.slice(0, -2).entries()) expect(after[index]).toBe(item);
  });

  test('misses nothing at any time but lines that can become a table or code', () => {
    fc.assert(
      fc.property(simple, cuts, (source, at) => {
        for (const { end, nodes } of grown(source, at).steps) {
          const all = lettersOf(source.slice(0, end));
          const shown = lettersOf(textOf(nodes));
          expect(all.startsWith(shown)).toBe(true);
          expect(lettersOf(undecided(source.slice(0, end)))).toContain(all.slice(shown.length));
        }
      }),
      { numRuns: runs(500) },
    );
    fc.assert(
      fc.property(randomMarkdown, cuts, (source, at) => {
        for (const { end, nodes } of grown(source, at).steps) {
          const all = wordsOf(source.slice(0, end));
          const shown = wordsOf(textOf(nodes));
          expect(shown).toEqual(all.slice(0, shown.length));
          const held = wordsOf(undecided(source.slice(0, end)));
          expect(held).toEqual(expect.arrayContaining(all.slice(shown.length)));
        }
      }),
      { numRuns: runs(500) },
    );
  });

  test.each(['# One', '# Two\n\ntwo\n\nthree', '# One\n\ntwo\n\nthre3\n\nfour'])(
    'is read again if it is another text, as after a rewind: %j',
    (other) => {
      for (const isWhole of [false, true]) {
        const tree = new MarkdownTree();
        tree.read('# One\n\ntwo\n\nthree', false);
        expect(tree.read(other, isWhole)).toEqual(new MarkdownTree().read(other, isWhole));
        expect(tree.read(`${other} more`, false)).toEqual(
          new MarkdownTree().read(`${other} more`, false),
        );
      }
    },
  );
});

const kindsOf = (source: string) =>
  [...new MarkdownTree().read(source, false)].map(({ kind }) => kind);

describe('an unfinished line', () => {
  test('makes no heading of the words before a list', () => {
    const source = 'These are they:\n- one\n- two\n';
    for (let end = 1; end <= source.length; end++)
      expect(kindsOf(source.slice(0, end)), source.slice(0, end)).not.toContain('heading');
  });

  test.each(['> quoted\n> -', '- item\n  ==', '1. a\n\n   b\n   --'])(
    'makes no heading inside of a container either: %j',
    (source) => {
      const found = JSON.stringify(new MarkdownTree().read(source, false));
      expect(found).not.toContain('"heading"');
    },
  );

  test('makes a heading as soon as it has ended', () => {
    expect(kindsOf('Title\n---\n')).toEqual(['heading']);
    expect(kindsOf('Title\n---\n\nmore')).toEqual(['heading', 'paragraph']);
    const tree = new MarkdownTree();
    const read = (source: string) => [...tree.read(source, false)].map(({ kind }) => kind);
    expect(read('Title\n--')).toEqual(['paragraph', 'paragraph']);
    expect(read('Title\n---\n\nmore')).toEqual(['heading', 'paragraph']);
  });

  test('is code in code', () => {
    expect(kindsOf('```\na\n-')).toEqual(['code']);
  });
});

/** Creates a tree and counts its parsing steps. */
function counted() {
  const count = { steps: 0 };
  const onWork = (steps: number) => {
    count.steps += steps;
  };
  return { count, onWork, tree: new MarkdownTree(onWork) };
}

/** Parses the text of all nodes, as the views do. */
function readInline(nodes: Nodes, onWork: (steps: number) => void): void {
  for (const node of nodes) {
    if (node.kind === 'heading' || node.kind === 'paragraph') parseInline(node.text, onWork);
    if (node.kind === 'quote') readInline(node.children, onWork);
    if (node.kind === 'list') for (const { children } of node.items) readInline(children, onWork);
    if (node.kind !== 'table') continue;
    const columns = tableHead([node.head, node.under]).cells.length;
    for (const row of [...node.parts].flat())
      for (const cell of tableRow(row, columns)) parseInline(cell, onWork);
  }
}

const repeated = (source: string, length: number) =>
  source.repeat(Math.ceil(length / source.length));

/** A length. The counts of steps do not depend on the machine, so a quarter of it is enough in quick mode. */
const scaled = (length: number) => (isFull ? length : length / 4);

describe('the work', () => {
  test.each(Object.entries(hostileTexts))('is proportional to the text: %s', (_, source) => {
    const work = (length: number) => {
      const { count, onWork, tree } = counted();
      readInline(tree.read(repeated(source, length), true), onWork);
      return count.steps;
    };
    const length = scaled(40_000);
    const once = work(length);
    expect(work(2 * length)).toBeLessThan(2.2 * once);
    expect(once).toBeLessThan(20 * length);
  });

  test.each(Object.entries(hostileTexts))(
    'for a piece does not grow with the text: %s',
    (_, source) => {
      const { count, tree } = counted();
      const most = (from: number, to: number) => {
        const work = [];
        const text = repeated(source, to);
        for (let length = from; length < to; length += 997) {
          count.steps = 0;
          tree.read(text.slice(0, length), false);
          work.push(count.steps);
        }
        return Math.max(...work);
      };
      const length = scaled(60_000);
      most(0, length);
      const early = most(length, 2 * length);
      expect(most(2 * length, 4 * length)).toBeLessThan(1.5 * early + 1_000);
      expect(early).toBeLessThan(300_000);
    },
  );

  test('for a piece makes only a few new nodes, however long a list is', () => {
    const source = '- item\n'.repeat(5_000);
    const tree = new MarkdownTree();
    const before = objectsIn(tree.read(source, false));
    const after = objectsIn(tree.read(`${source}- one more\n`, false));
    expect(before.size).toBeGreaterThan(10_000);
    expect(after.difference(before).size).toBeLessThan(50);
  });
});

function objectsIn(value: unknown, found = new Set<object>()): Set<object> {
  if (typeof value !== 'object' || value === null || found.has(value)) return found;
  found.add(value);
  for (const inner of Object.values(value)) objectsIn(inner, found);
  return found;
}
