import { stripVTControlCharacters } from 'node:util';
import { MarkdownStream } from '@millrace/markdown';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import {
  randomMarkdown,
  splitAt,
  wordsOf,
} from '../../../../../packages/markdown/src/testing/random-markdown.ts';
import { colorTheme, plainTheme } from '../theme/theme.ts';
import { MarkdownRenderer, markdownToAnsi } from './markdown-renderer.ts';

const cuts = fc.array(fc.nat(), { maxLength: 12 });

/** Renders the finished blocks after each chunk, and the rest at the end. */
function shownInSteps(chunks: readonly string[], width: number): string {
  const stream = new MarkdownStream();
  const renderer = new MarkdownRenderer({ theme: colorTheme });
  const lines = chunks.flatMap((chunk) => {
    stream.push(chunk);
    // A preview must not change the result.
    renderer.preview(stream.tail, width);
    return renderer.render(stream.take(), width);
  });
  return [...lines, ...renderer.render(stream.end(), width)].join('\n');
}

describe('Markdown that streams', () => {
  test('shows the same however it is cut into chunks, down to the colours', () => {
    fc.assert(
      fc.property(randomMarkdown, cuts, fc.integer({ min: 12, max: 90 }), (text, at, width) => {
        const whole = markdownToAnsi(text, { theme: colorTheme, width });
        expect(shownInSteps(splitAt(text, at), width)).toBe(whole);
        expect(shownInSteps(text.split(''), width)).toBe(whole);
      }),
      { numRuns: runs(500) },
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

  test('shows a long table in parts, each row once and under the same head', () => {
    const rows = Array.from({ length: 3_000 }, (_, row) => `| w${row}w | ${'x'.repeat(20)} |`);
    const text = ['| a | b |', '|---|---|', ...rows].join('\n');
    const shown = markdownToAnsi(text, { theme: plainTheme, width: 60 });
    expect(wordsOf(shown)).toEqual(wordsOf(text));
    expect(shown.match(/^a /gm)).toHaveLength(1);
  });
});
