import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomMarkdown, splitAt, wordsOf } from '../../testing/random-markdown.ts';
import { colorTheme, plainTheme } from '../theme/theme.ts';
import type { Block } from './block.ts';
import { MarkdownRenderer } from './markdown-renderer.ts';
import { MarkdownStream } from './markdown-stream.ts';
import { markdownToAnsi } from './markdown-to-ansi.ts';

const cuts = fc.array(fc.nat(), { maxLength: 12 });

/** What is shown when each chunk's finished blocks are printed as it comes, and the rest at the end. */
function shownInSteps(chunks: readonly string[], width: number): string {
  const stream = new MarkdownStream();
  const renderer = new MarkdownRenderer({ theme: colorTheme });
  const lines = chunks.flatMap((chunk) => {
    stream.push(chunk);
    // Looking at what is open changes nothing.
    renderer.preview(stream.tail, width);
    return renderer.render(stream.take(), width);
  });
  return [...lines, ...renderer.render(stream.end(), width)].join('\n');
}

function taken(text: string): readonly Block[] {
  const stream = new MarkdownStream();
  stream.push(text);
  return stream.take();
}

const textsOf = (blocks: readonly Block[]) =>
  blocks.flatMap((block) => ('text' in block ? [block.text] : []));

describe('a stream of Markdown', () => {
  test('shows the same however it is cut into chunks, down to the colours', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, fc.integer({ min: 12, max: 90 }), (text, at, width) => {
        const whole = markdownToAnsi(text, { theme: colorTheme, width });
        expect(shownInSteps(splitAt(text, at), width)).toBe(whole);
        expect(shownInSteps(text.split(''), width)).toBe(whole);
      }),
      { numRuns: 500 },
    );
  });

  test('has at any time taken and open what the whole of what has come is', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, (text, at) => {
        const stream = new MarkdownStream();
        const blocks: Block[] = [];
        let come = '';
        for (const chunk of splitAt(text, at)) {
          stream.push(chunk);
          come += chunk;
          blocks.push(...stream.take());
          const whole = new MarkdownStream();
          whole.push(come);
          expect([...blocks, ...stream.tail]).toEqual(whole.end());
        }
      }),
      { numRuns: 500 },
    );
  });

  test('loses no word, doubles none and keeps their order', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, (text, at) => {
        const shown = stripVTControlCharacters(shownInSteps(splitAt(text, at), 400));
        expect(wordsOf(shown)).toEqual(wordsOf(text));
      }),
    );
  });

  test('never takes back what was taken, whatever comes after', () => {
    fc.assert(
      fc.property(randomMarkdown, randomMarkdown, (before, after) => {
        const stream = new MarkdownStream();
        stream.push(before);
        const early = stream.take();
        stream.push(after);
        const all = [...early, ...stream.take(), ...stream.end()];
        const whole = new MarkdownStream();
        whole.push(before + after);
        expect(all).toEqual(whole.end());
      }),
    );
  });

  test('gives a paragraph when a blank line or another block ends it', () => {
    expect(taken('one\ntwo')).toEqual([]);
    expect(textsOf(taken('one\ntwo\n\n'))).toEqual(['one\ntwo']);
    expect(textsOf(taken('one\n# two\n'))).toEqual(['one', 'two']);
  });

  test('gives a list item when the next one begins', () => {
    expect(textsOf(taken('- one\n- two\n- thr'))).toEqual(['one']);
    expect(textsOf(taken('- one\n  - deep\n- two\n'))).toEqual(['one', 'deep']);
  });

  test('gives code line by line, also in a list or a quote', () => {
    const kinds = (text: string) => taken(text).map(({ kind }) => kind);
    expect(kinds('```ts\na\nb\nc')).toEqual(['code_open', 'code_line', 'code_line']);
    expect(kinds('> ```\n> a\n')).toEqual(['code_open', 'code_line']);
    expect(kinds('1. x\n   ```\n   a\n   ```\n')).toEqual([
      'paragraph',
      'code_open',
      'code_line',
      'code_close',
    ]);
  });

  test('is as new after its end', () => {
    const stream = new MarkdownStream();
    stream.push('```\ncode');
    stream.end();
    stream.push('text');
    expect(stream.end()).toMatchObject([{ kind: 'paragraph', text: 'text', gap: undefined }]);
    expect(stream.tail).toEqual([]);
  });

  test('gives a line without end in parts, and what is open stays small', () => {
    const stream = new MarkdownStream();
    const word = 'word '.repeat(2_000);
    const parts: Block[] = [];
    for (let count = 0; count < 50; count++) {
      stream.push(word);
      parts.push(...stream.take());
      const open = textsOf(stream.tail).join('');
      expect(open.length).toBeLessThan(40_000);
    }
    const all = textsOf([...parts, ...stream.end()]).join('');
    expect(all.length).toBe(word.length * 50);
    expect(parts.length).toBeGreaterThan(10);
  });

  test('shows a long table in parts, each row once and under the same head', () => {
    const rows = Array.from({ length: 3_000 }, (_, row) => `| w${row}w | ${'x'.repeat(20)} |`);
    const text = ['| a | b |', '|---|---|', ...rows].join('\n');
    const shown = markdownToAnsi(text, { theme: plainTheme, width: 60 });
    expect(wordsOf(shown)).toEqual(wordsOf(text));
    expect(shown.match(/^a /gm)).toHaveLength(1);
    expect(taken(text).length).toBeGreaterThan(1);
  });
});

describe('the work of a stream', () => {
  const texts = {
    prose: 'Some **bold** words, `code` and a [link](https://example.com).\n\n',
    'a line without end': 'word ',
    'a list': '- item with *emphasis*\n',
    'nested lists': '- a\n  - b\n    1. c\n',
    'a code block': 'const a = 1; // note\n',
    quotes: '> > > text\n',
    'a table': '| a | b |\n',
  };

  function workOf(text: string, chunk: number): number {
    let work = 0;
    const stream = new MarkdownStream((steps) => {
      work += steps;
    });
    for (let at = 0; at < text.length; at += chunk) {
      stream.push(text.slice(at, at + chunk));
      stream.take();
    }
    stream.end();
    return work;
  }

  test.each(Object.entries(texts))('grows with the text alone: %s', (_, piece) => {
    const once = `\`\`\`ts\n`.repeat(piece.startsWith('const') ? 1 : 0) + piece.repeat(1_000);
    const twice = once + piece.repeat(1_000);
    for (const chunk of [1, 7, once.length]) {
      expect(workOf(twice, chunk)).toBeLessThan(2.1 * workOf(once, chunk));
      expect(workOf(once, chunk)).toBeLessThan(12 * once.length);
    }
  });
});
