import fc from 'fast-check';
import { Lexer } from 'marked';
import { expect, test } from 'vitest';
import { MarkdownBlocks } from './markdown-blocks.ts';

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
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));

const rawOf = (source: string) =>
  Lexer.lex(source)
    .filter(({ type }) => type !== 'space' && type !== 'def')
    .map(({ raw }) => raw);

function grown(source: string, cuts: readonly number[]) {
  const blocks = new MarkdownBlocks();
  const ends = [...new Set(cuts.map((cut) => cut % (source.length + 1)))].toSorted((a, b) => a - b);
  const steps = ends.map((end) => blocks.read(source.slice(0, end), false));
  return { blocks, steps };
}

test('text that came in pieces ends as text that came at once', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 30 }), (source, cuts) => {
      const { blocks } = grown(source, cuts);
      expect(blocks.read(source, true).map(({ token }) => token.raw)).toEqual(rawOf(source));
    }),
    { numRuns: 1000 },
  );
});

test('a block that is done stays the same object while more comes', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 30 }), (source, cuts) => {
      const { steps } = grown(source, cuts);
      for (const [at, before] of steps.entries())
        for (const [place, block] of before.entries())
          if (block.isDone) expect(steps[at + 1]?.[place] ?? block).toBe(block);
    }),
    { numRuns: 500 },
  );
});

test('nothing that was written is missing while it streams', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 30 }), (source, cuts) => {
      const { steps } = grown(source, cuts);
      const last = steps.at(-1) ?? [];
      const shown = last
        .map(({ token }) => token.raw)
        .join('')
        .replaceAll(/\s/g, '');
      const end = Math.max(0, ...cuts.map((cut) => cut % (source.length + 1)));
      expect(shown).toBe(source.slice(0, end).replaceAll(/\s/g, ''));
    }),
    { numRuns: 500 },
  );
});

test('what is shorter than before is another text, as when one goes back in time', () => {
  const blocks = new MarkdownBlocks();
  blocks.read('# One\n\ntwo\n\nthree', false);
  expect(blocks.read('# One', false).map(({ token }) => token.raw)).toEqual(['# One']);
});

test('a block that does not end is shown as it is, and costs no more reading', () => {
  const blocks = new MarkdownBlocks();
  const [block] = blocks.read('word '.repeat(10_000), false);
  expect(block?.token.type).toBe('text');
  expect(blocks.read('word '.repeat(10_000), true)[0]?.token.type).toBe('paragraph');
});

const typesOf = (source: string) =>
  new MarkdownBlocks().read(source, false).map(({ token }) => token.type);

test('words before a list are no heading while its first mark is all there is of it', () => {
  const source = 'These are they:\n- one\n- two\n';
  for (let end = 1; end <= source.length; end++)
    expect(typesOf(source.slice(0, end)), source.slice(0, end)).not.toContain('heading');
});

test.each(['> quoted\n> -', '- item\n  ==', '1. a\n\n   b\n   --'])(
  'nor are words within something: %j',
  (source) => {
    const found = JSON.stringify(new MarkdownBlocks().read(source, false));
    expect(found).not.toContain('"heading"');
  },
);

test('a line of marks makes a heading as soon as it has ended', () => {
  expect(typesOf('Title\n---\n')).toEqual(['heading']);
  expect(typesOf('Title\n---\n\nmore')).toEqual(['heading', 'paragraph']);
  const blocks = new MarkdownBlocks();
  const read = (text: string) => blocks.read(text, false).map(({ token }) => token.type);
  expect(read('Title\n--')).toEqual(['paragraph', 'text']);
  expect(read('Title\n---\n\nmore')).toEqual(['heading', 'paragraph']);
});

test('marks in code are code', () => {
  expect(typesOf('```\na\n-')).toEqual(['code']);
});
