import { describe, expect, test } from 'vitest';
import { isFull } from '../../../../packages/core/src/testing/runs.ts';
import { markdownToAnsi } from './markdown/markdown-renderer.ts';
import { colorTheme } from './theme/theme.ts';

/** Counts all steps to read, highlight and lay out a text. */
function workOf(text: string, width: number): number {
  let work = 0;
  const onWork = (steps: number) => {
    work += steps;
  };
  markdownToAnsi(text, { theme: colorTheme, width, onWork });
  return work;
}

const texts: Readonly<Record<string, string>> = {
  prose: 'Words with **bold**, `code` and a [link](https://example.com/a), and more.\n\n',
  'one paragraph': 'Words with **bold** and *more*\n',
  'one line': 'word ',
  lists: '- item **a**\n  1. nested `b`\n\n     text\n',
  quotes: '> > quoted *text*\n',
  tables: '| a | b |\n|---|---|\n| 1 | **2** |\n\n',
  'one table': '| a | b |\n',
  code: '```ts\nconst a = "b"; // d\n```\n',
  'HTML that never ends': '<pre>\n',
  'a comment that never ends': '<!-- *a* [b](c) ',
  'marks of everything': '*_~[`<!>#-+=|&\\ ',
  'emphasis that never ends': '*a **b _c ',
  'brackets that never end': '[a](b![',
  'backticks that belong to nothing': '`a ``b ',
  'marks of quotes': '> ',
  'marks of items': '+ ',
  'wide characters': '漢字かな交じり文。',
  emoji: '👩‍👩‍👧‍👦 ',
  'marks on a character': 'e\u0301\u0302',
  controls: '\u001b[31m\u0007',
  'empty lines': '\n',
};

/** The length of the shorter text. The counts of steps do not depend on the machine, so a short text is enough. */
const length = isFull ? 40_000 : 10_000;

describe('the work of showing Markdown', () => {
  test.each(Object.entries(texts))('is twice as much for twice as much: %s', (name, piece) => {
    const start = name === 'one table' ? '| x | y |\n|---|---|\n' : '';
    const once = start + piece.repeat(Math.ceil(length / piece.length));
    const work = workOf(once, 60);
    expect(workOf(once + once.slice(start.length), 60)).toBeLessThan(2.15 * work);
    expect(work).toBeGreaterThan(once.length);
    expect(work).toBeLessThan(40 * once.length);
  });
});
