import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../core/src/testing/runs.ts';
import { type Block, taskOf } from './block.ts';
import { MarkdownStream } from './markdown-stream.ts';
import { randomMarkdown, splitAt, wordsOf } from './testing/random-markdown.ts';

const cuts = fc.array(fc.nat(), { maxLength: 12 });

/** Takes the finished blocks after each chunk, and the rest at the end. */
function readInSteps(chunks: readonly string[]): readonly Block[] {
  const stream = new MarkdownStream();
  const blocks = chunks.flatMap((chunk) => {
    stream.push(chunk);
    // Reading the unfinished blocks must not change the stream.
    void stream.tail;
    void stream.steadyTail;
    return stream.take();
  });
  return [...blocks, ...stream.end()];
}

function contentOf(block: Block): string {
  if (block.kind === 'table') return block.rows.join(' ');
  if (block.kind === 'code_open') return block.info;
  return 'text' in block ? block.text : '';
}

function taken(text: string): readonly Block[] {
  const stream = new MarkdownStream();
  stream.push(text);
  return stream.take();
}

const textsOf = (blocks: readonly Block[]) =>
  blocks.flatMap((block) => ('text' in block ? [block.text] : []));

describe('a stream of Markdown', () => {
  test('has the same blocks however it is cut into chunks', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, (text, at) => {
        const whole = readInSteps([text]);
        expect(readInSteps(splitAt(text, at))).toEqual(whole);
        expect(readInSteps(text.split(''))).toEqual(whole);
      }),
      { numRuns: runs(500) },
    );
  });

  test('has at any time the blocks of the text so far: those taken and the tail', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, (text, at) => {
        const stream = new MarkdownStream();
        const blocks: Block[] = [];
        let received = '';
        for (const chunk of splitAt(text, at)) {
          stream.push(chunk);
          received += chunk;
          blocks.push(...stream.take());
          const whole = new MarkdownStream();
          whole.push(received);
          expect([...blocks, ...stream.tail]).toEqual(whole.end());
        }
      }),
      { numRuns: runs(500) },
    );
  });

  test('loses no word, repeats no word and keeps their order', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, (text, at) => {
        const read = readInSteps(splitAt(text, at)).map(contentOf).join('\n');
        expect(wordsOf(read)).toEqual(wordsOf(text));
      }),
    );
  });

  test('never changes a block that was taken', () => {
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

  test('can be used for a new text after its end', () => {
    const stream = new MarkdownStream();
    stream.push('```\ncode');
    stream.end();
    stream.push('text');
    expect(stream.end()).toMatchObject([{ kind: 'paragraph', text: 'text', gap: undefined }]);
    expect(stream.tail).toEqual([]);
  });

  test('gives a line without end in parts, and the tail stays small', () => {
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

  test('gives a long table in parts, each row once and with the same head', () => {
    const rows = Array.from({ length: 3_000 }, (_, row) => `| w${row}w | ${'x'.repeat(20)} |`);
    const text = ['| a | b |', '|---|---|', ...rows].join('\n');
    const tables = readInSteps([text]).filter((block) => block.kind === 'table');
    expect(tables.length).toBeGreaterThan(1);
    expect(taken(text).length).toBeGreaterThan(1);
    expect(tables.map(({ isRest }) => isRest).indexOf(true)).toBe(1);
    for (const table of tables) expect(table.rows.slice(0, 2)).toEqual(['| a | b |', '|---|---|']);
    expect(tables.flatMap((table) => table.rows.slice(2))).toEqual(rows);
  });

  test('keeps the tabs and the control characters of code', () => {
    const lines = (text: string) => textsOf(readInSteps([text]));
    expect(lines('```\n\ta\tb\u001b\n```')).toEqual(['\ta\tb\u001b']);
    expect(lines('\t\ta\tb')).toEqual(['\ta\tb']);
    expect(lines('- x\n\n  ```\n  \ta\n  ```')).toEqual(['x', '  a']);
    expect(lines('<div>\n\ta')).toEqual(['<div>', '\ta']);
  });
});

describe('the steady tail', () => {
  const kinds = (text: string) => {
    const stream = new MarkdownStream();
    stream.push(text);
    return [...stream.take(), ...stream.steadyTail].map(({ kind }) => kind);
  };

  test('has no heading before the line under it has ended', () => {
    expect(kinds('Title\n--')).toEqual(['paragraph', 'paragraph']);
    expect(kinds('Title\n---')).toEqual(['paragraph', 'paragraph']);
    expect(kinds('Title\n=')).toEqual(['paragraph', 'paragraph']);
    expect(kinds('Title\n---\n')).toEqual(['heading']);
    expect(kinds('> Title\n> -')).toEqual(['paragraph', 'paragraph']);
    expect(kinds('# Title')).toEqual(['heading']);
  });

  test('loses no word', () => {
    fc.assert(
      fc.property(randomMarkdown, (text) => {
        const stream = new MarkdownStream();
        stream.push(text);
        const read = [...stream.take(), ...stream.steadyTail].map(contentOf).join('\n');
        expect(wordsOf(read)).toEqual(wordsOf(text));
      }),
    );
  });
});

describe('the checkbox of a task', () => {
  const tasks = (text: string) => readInSteps([text]).map(taskOf);

  test('is at the start of a list item', () => {
    expect(tasks('- [ ] a\n- [x] b\n1. [X] c')).toEqual([
      { isChecked: false, text: 'a' },
      { isChecked: true, text: 'b' },
      { isChecked: true, text: 'c' },
    ]);
    expect(tasks('[ ] a\n\n- b\n\n  [x] c\n- [ ]\n- [y] d\n- > [ ] e')).toEqual(
      Array.from({ length: 6 }, () => undefined),
    );
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

  test.each(Object.entries(texts))('is proportional to the length of the text: %s', (_, piece) => {
    const once = `\`\`\`ts\n`.repeat(piece.startsWith('const') ? 1 : 0) + piece.repeat(1_000);
    const twice = once + piece.repeat(1_000);
    for (const chunk of [1, 7, once.length]) {
      expect(workOf(twice, chunk)).toBeLessThan(2.1 * workOf(once, chunk));
      expect(workOf(once, chunk)).toBeLessThan(12 * once.length);
    }
  });

  test('of reading the open block does not grow with the length of the text', () => {
    const work = (text: string) => {
      let steps = 0;
      const stream = new MarkdownStream((more) => {
        steps += more;
      });
      stream.push(text);
      stream.take();
      steps = 0;
      void stream.steadyTail;
      return steps;
    };
    for (const piece of Object.values(texts))
      expect(work(piece.repeat(10_000))).toBeLessThan(100_000);
  });
});
