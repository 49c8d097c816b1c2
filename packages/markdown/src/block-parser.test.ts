import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Block } from './block.ts';
import { MarkdownStream } from './markdown-stream.ts';

function parse(text: string): readonly Block[] {
  const stream = new MarkdownStream();
  stream.push(text);
  return stream.end();
}

/** A block as a line: its containers, its kind and its text. */
function summary(block: Block): string {
  const within = block.within.map((container) => {
    if (container.kind === 'quote') return '>';
    const mark = container.kind === 'footnote' ? `^${container.label}` : container.number;
    return `${container.opens ? '+' : ' '}${mark ?? '-'}`;
  });
  return [...within, block.kind, contentOf(block)].join(' ').trimEnd();
}

function contentOf(block: Block): string {
  if (block.kind === 'table') return block.rows.join('\\n');
  if (block.kind === 'code_open') return block.info;
  const text = 'text' in block ? block.text.replaceAll('\n', '\\n') : '';
  return block.kind === 'heading' ? `${block.level} ${text}` : text;
}

const blocks = (text: string) => parse(text).map(summary);

describe('blocks', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'footnotes',
      'a[^1]\n[^1]: b\n[^n]: c\nd\n\n    e\n\nf',
      [
        'paragraph a[^1]',
        '+^1 paragraph b',
        '+^n paragraph c\\nd',
        ' ^n paragraph e',
        'paragraph f',
      ],
    ],
    [
      'footnotes with lists and code',
      '[^1]: - b\n    - c\n\n        code\n[^2]:\n\n    d',
      [
        '+^1 +- paragraph b',
        ' ^1 +- paragraph c',
        ' ^1  - paragraph code',
        '+^2 paragraph',
        'code_open',
        'code_line d',
        'code_close',
      ],
    ],
    [
      'no footnotes',
      '- [^1]: a\n> [^1]: b\n\n[^a b]: c\n\n[^]: d\n\n[^1] e',
      [
        '+- paragraph [^1]: a',
        '> paragraph [^1]: b',
        'paragraph [^a b]: c',
        'paragraph [^]: d',
        'paragraph [^1] e',
      ],
    ],
    ['paragraphs', 'a\nb\n\nc', ['paragraph a\\nb', 'paragraph c']],
    [
      'headings',
      '# a #\n###### b\n####### c\n#d\n#',
      ['heading 1 a', 'heading 6 b', 'paragraph ####### c\\n#d', 'heading 1'],
    ],
    [
      'underlined headings',
      'a\nb\n===\nc\n-\n\n===',
      ['heading 1 a\\nb', 'heading 2 c', 'paragraph ==='],
    ],
    ['rules', '***\n- - -\n__ _\n--', ['rule', 'rule', 'rule', 'paragraph --']],
    ['a rule in a list', '- a\n***\n- b', ['+- paragraph a', 'rule', '+- paragraph b']],
    [
      'fences',
      '```ts\na\n~~~\n``\n````\nb',
      ['code_open ts', 'code_line a', 'code_line ~~~', 'code_line ``', 'code_close', 'paragraph b'],
    ],
    [
      'a fence that is never closed',
      '~~~\na\n\n',
      ['code_open', 'code_line a', 'code_line', 'code_close'],
    ],
    [
      'formulas with lines of their own',
      'a\n$$\n- x\n= y\n$$\n\\[\nz \\]\nb',
      [
        'paragraph a',
        'code_open math',
        'code_line - x',
        'code_line = y',
        'code_close',
        'code_open math',
        'code_line z',
        'code_close',
        'paragraph b',
      ],
    ],
    [
      'a formula that is never closed ends at an empty line',
      '- $$\n  x\n\n  b\n',
      ['+- code_open math', ' - code_line x', ' - code_close', ' - paragraph b'],
    ],
    ['a formula in a line is a part of its paragraph', '$$x$$\nb', ['paragraph $$x$$\\nb']],
    ['code in a line is no fence', '```a``` b', ['paragraph ```a``` b']],
    [
      'indented fences lose their indent',
      '  ```\n    a\n b\n  ```',
      ['code_open', 'code_line   a', 'code_line b', 'code_close'],
    ],
    [
      'indented code',
      '    a\n\n      b\n\nc\n    d',
      ['code_open', 'code_line a', 'code_line', 'code_line   b', 'code_close', 'paragraph c\\nd'],
    ],
    [
      'quotes',
      '> a\nb\n> c\n\n> d\n>> e\n---',
      ['> paragraph a\\nb\\nc', '> paragraph d', '> > paragraph e', 'rule'],
    ],
    [
      'only paragraphs have lazy lines',
      '> ```\na\n> # b\nc',
      ['> code_open', '> code_close', 'paragraph a', '> heading 1 b', 'paragraph c'],
    ],
    [
      'lists',
      '- a\n\n  b\n- c\n\nd',
      ['+- paragraph a', ' - paragraph b', '+- paragraph c', 'paragraph d'],
    ],
    [
      'numbers are counted',
      '7) a\n7) b\n1. c',
      ['+7) paragraph a', '+8) paragraph b', '+1. paragraph c'],
    ],
    [
      'a list continues after a block inside of an item',
      '1. a\n   ```\n   x\n   ```\n1. b',
      ['+1. paragraph a', ' 1. code_open', ' 1. code_line x', ' 1. code_close', '+2. paragraph b'],
    ],
    [
      'a block outside of a list ends the list',
      '1. a\n```\nx\n```\n2. b',
      ['+1. paragraph a', 'code_open', 'code_line x', 'code_close', '+2. paragraph b'],
    ],
    [
      'nested lists',
      '- a\n  1. b\n     - c\n  2. d\n- e',
      [
        '+- paragraph a',
        ' - +1. paragraph b',
        ' -  1. +- paragraph c',
        ' - +2. paragraph d',
        '+- paragraph e',
      ],
    ],
    ['items in items', '- 1. > a', ['+- +1. > paragraph a']],
    [
      'empty items',
      '- a\n-\n-\n  b\n-\n\n  c',
      ['+- paragraph a', '+- paragraph', '+- paragraph b', '+- paragraph', 'paragraph c'],
    ],
    [
      'items that begin with code',
      '-     a\n- ```\n  b',
      [
        '+- code_open',
        ' - code_line a',
        ' - code_close',
        '+- code_open',
        ' - code_line b',
        ' - code_close',
      ],
    ],
    [
      'a year is no list',
      'It was\n1984. Or\n- so',
      ['paragraph It was\\n1984. Or', '+- paragraph so'],
    ],
    ['lazy items', '- a\nb\n\nc', ['+- paragraph a\\nb', 'paragraph c']],
    ['tables', 'a|b\n-|-\n1|2\n> q', ['table a|b\\n-|-\\n1|2', '> paragraph q']],
    [
      'HTML up to an empty line',
      '<div>\n*a*\n\nb',
      ['html_line <div>', 'html_line *a*', 'paragraph b'],
    ],
    [
      'HTML up to its end',
      '<!--\n\na -->\nb\n<pre>\n\n</pre>',
      [
        'html_line <!--',
        'html_line',
        'html_line a -->',
        'paragraph b',
        'html_line <pre>',
        'html_line',
        'html_line </pre>',
      ],
    ],
    [
      'a tag on a line of its own',
      '<x-y z="1">\n*a*\n\nb\n<x-y>',
      ['html_line <x-y z="1">', 'html_line *a*', 'paragraph b\\n<x-y>'],
    ],
    [
      'tabs',
      '\ta\n-\tb\n\n\tc',
      ['code_open', 'code_line a', 'code_close', '+- paragraph b', ' - paragraph c'],
    ],
  ])('%s', (_, text, expected) => {
    expect(blocks(text)).toEqual(expected);
  });

  test('are separated outside of containers, and inside if the source separates them', () => {
    const gaps = (text: string) => parse(text).map(({ gap }) => gap);
    expect(gaps('a\n# b\n- c\n- d\n\n- e\n# f')).toEqual([
      undefined,
      0,
      undefined,
      undefined,
      0,
      0,
    ]);
    expect(gaps('> a\n>\n> b\n\n> c')).toEqual([undefined, 1, 0]);
  });

  test('name their list, their item and their quote', () => {
    const lists = parse('- a\n- b\n\n  c\n* d\n1. e\n2. f').map(({ within }) => within[0]);
    const list = lists.map((item) => item?.kind === 'item' && item.list);
    expect(list.map((id) => list.indexOf(id))).toEqual([0, 0, 0, 3, 4, 4]);
    const ids = lists.map((item) => item?.id);
    expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 1, 1, 3, 4, 5]);
    const quotes = parse('> a\n>\n> b\n\n> c').map(({ within }) => within[0]?.id);
    expect(quotes[0]).toBe(quotes[1]);
    expect(quotes[2]).not.toBe(quotes[1]);
  });

  test('have at most twelve containers', () => {
    const [block] = parse(`${'> '.repeat(1_000)}a`);
    expect(block?.within).toHaveLength(12);
    expect(block && 'text' in block && block.text.endsWith('> a')).toBe(true);
  });
});

/** Lines of Markdown and the expected blocks. */
interface Written {
  readonly lines: readonly string[];
  readonly blocks: readonly string[];
}

const text = fc.constantFrom('a', 'two words', '*b* `c`', 'x\ny', '1984', 'a - b', '漢');
const inside = (written: Written, first: string, rest: string, mark: string, again: string) => ({
  lines: written.lines.map(
    (line, at) => (at === 0 ? first : line === '' ? rest.trimEnd() : rest) + line,
  ),
  blocks: written.blocks.map((block, at) => `${at === 0 ? mark : again} ${block}`),
});

const { document } = fc.letrec<{ leaf: Written; part: Written; document: Written }>((tie) => ({
  leaf: fc.oneof(
    text.map((words) => ({
      lines: words.split('\n'),
      blocks: [`paragraph ${words.replace('\n', '\\n')}`],
    })),
    fc.constant({ lines: ['## a'], blocks: ['heading 2 a'] }),
    fc.constant({ lines: ['***'], blocks: ['rule'] }),
    fc.constant({ lines: ['a|b', '-|-', '1|2'], blocks: ['table a|b\\n-|-\\n1|2'] }),
    fc.array(fc.constantFrom('- a', '', '> b', '~~', '# c', '    d')).map((code) => ({
      lines: ['```ts', ...code, '```'],
      blocks: ['code_open ts', ...code.map((line) => `code_line ${line}`.trimEnd()), 'code_close'],
    })),
  ),
  part: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('leaf'),
    tie('document').map((written) => inside(written, '> ', '> ', '>', '>')),
    fc.array(tie('document'), { minLength: 1, maxLength: 3 }).map((items) => {
      const written = items.map((item, at) =>
        inside(item, `${at + 3}. `, '   ', `+${at + 3}.`, ` ${at + 3}.`),
      );
      return {
        lines: written.flatMap(({ lines }) => ['', ...lines]).slice(1),
        blocks: written.flatMap((each) => each.blocks),
      };
    }),
  ),
  // A paragraph separates the parts, so that two of them do not become one block.
  document: fc.array(tie('part'), { minLength: 1, maxLength: 3 }).map((parts) => ({
    lines: parts.flatMap(({ lines }) => ['', 'p', '', ...lines]).slice(1),
    blocks: parts.flatMap((part) => ['paragraph p', ...part.blocks]),
  })),
}));

describe('a document', () => {
  test('has the blocks that it was generated from, however they are nested', () => {
    fc.assert(
      fc.property(document, (written) => {
        expect(blocks(written.lines.join('\n'))).toEqual(written.blocks);
      }),
    );
  });
});
