import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { randomMarkdown } from '../../../../../packages/markdown/src/testing/random-markdown.ts';
import { cellWidth } from '../cells/cell-width.ts';
import { colorTheme, dumbTheme, plainTheme, withHyperlinks } from '../theme/theme.ts';
import { markdownToAnsi } from './markdown-renderer.ts';

const plainly = (text: string, width = 40) => markdownToAnsi(text, { theme: plainTheme, width });
const painted = (text: string, width = 40) => markdownToAnsi(text, { theme: colorTheme, width });

describe('Markdown in a terminal', () => {
  test('is never wider than the terminal', () => {
    fc.assert(
      fc.property(randomMarkdown, fc.integer({ min: 2, max: 100 }), (text, width) => {
        for (const line of painted(text, width).split('\n')) {
          expect(cellWidth(line)).toBeLessThanOrEqual(width);
        }
      }),
    );
  });

  test('has lines that can each stand alone: what a line switches on it switches off', () => {
    fc.assert(
      fc.property(randomMarkdown, fc.integer({ min: 10, max: 60 }), (text, width) => {
        for (const line of painted(text, width).split('\n')) {
          const on = new Set<string>();
          // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what switches
          for (const [, code = ''] of line.matchAll(/\u001b\[(\d+)m/g)) {
            if (/^(?:2[2-9]|39)$/.test(code)) on.delete(code);
            else on.add(offOf(code));
          }
          expect([...on]).toEqual([]);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('says the same with colours as without them', () => {
    const neutral = { ...plainTheme, marks: false };
    fc.assert(
      fc.property(randomMarkdown, fc.integer({ min: 10, max: 60 }), (text, width) => {
        const without = markdownToAnsi(text, { theme: neutral, width });
        expect(stripVTControlCharacters(painted(text, width))).toBe(without);
      }),
      { numRuns: runs(300) },
    );
  });

  test('of a plain theme has no escape sequence, and of a dumb one only ASCII marks', () => {
    const text =
      '# T\n\n- **a** `b`\n\n> q\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n```ts\nx\n```';
    expect(plainly(text)).not.toContain('\u001b');
    expect(markdownToAnsi(text, { theme: dumbTheme, width: 40 })).toMatch(/^[\n -~]*$/);
  });

  test('shows headings, emphasis and code in colours, or with the marks of Markdown', () => {
    expect(painted('# One')).toBe('\u001b[1m\u001b[4m\u001b[35mOne\u001b[39m\u001b[24m\u001b[22m');
    expect(painted('a **b** *c*')).toBe('a \u001b[1mb\u001b[22m \u001b[3mc\u001b[23m');
    expect(plainly('## Two `x`')).toBe('## Two `x`');
    expect(plainly('Three\n===')).toBe('# Three');
  });

  test('wraps by cells: wide characters, marks and emoji', () => {
    expect(plainly('漢字漢字漢字', 5)).toBe('漢字\n漢字\n漢字');
    expect(plainly('👩‍👩‍👧‍👦👩‍👩‍👧‍👦 e\u0301e\u0301e\u0301 end', 5)).toBe(
      '👩‍👩‍👧‍👦👩‍👩‍👧‍👦\ne\u0301e\u0301e\u0301\nend',
    );
  });

  test('keeps the line breaks of the source, hard and soft', () => {
    expect(plainly('a\nb  \nc\\\nd<br>e')).toBe('a\nb\nc\nd\ne');
  });

  test('shows lists nested, numbered, with boxes, tight or loose as they are written', () => {
    expect(plainly('- a\n  - b\n    - c\n      - d\n- e')).toBe(
      '• a\n  ◦ b\n    ▪ c\n      ▪ d\n• e',
    );
    expect(plainly('3. a\n3. b\n\n4. c')).toBe('3. a\n4. b\n\n5. c');
    expect(plainly('- [ ] a\n- [x] b\n1. [X] c')).toBe('[ ] a\n[x] b\n1. [x] c');
    expect(plainly('- one two three\n- \n- x', 9)).toBe('• one two\n  three\n•\n• x');
  });

  test('shows quotes with a bar, also in the empty lines between', () => {
    expect(plainly('> a\n>\n> - b\n> > c\n\nd')).toBe('│ a\n│\n│ • b\n│ │ c\n\nd');
  });

  test('shows code with its language, and marks where a line was too long', () => {
    expect(plainly('```ts x\na\n\n  b\n```\nc', 20)).toBe('── ts x\n  a\n\n    b\n\nc');
    expect(plainly('    abcdefgh', 6)).toBe('  abcd\n↳ efgh');
    const clipped = markdownToAnsi('    abcdefgh', {
      theme: plainTheme,
      width: 6,
      longLines: 'clip',
    });
    expect(clipped).toBe('  abc…');
    expect(plainly('- ```\n  x\n  ```')).toBe('•\n    x');
  });

  test('shows HTML as text', () => {
    expect(plainly('<div class="x">\n*a*\n</div>\n\n<b>*c*</b> 1 < 2')).toBe(
      '<div class="x">\n*a*\n</div>\n\n<b>c</b> 1 < 2',
    );
  });

  test('shows where links lead, once', () => {
    expect(plainly('[a](https://b.c) <https://b.c> https://b.c.')).toBe(
      'a (https://b.c) https://b.c https://b.c.',
    );
    expect(plainly('![alt](pic.png)')).toBe('[image: alt] (pic.png)');
  });

  test('makes links where the theme says so, but never to a place that the text denies', () => {
    const theme = withHyperlinks(plainTheme);
    const linked = (text: string) => markdownToAnsi(text, { theme, width: 80 });
    const to = (address: string, text: string) =>
      `\u001b]8;;${address}\u0007${text}\u001b]8;;\u0007`;
    expect(linked('[a](https://b.c/é)')).toBe(to('https://b.c/%C3%A9', 'a'));
    expect(linked('[https://good.com](https://evil.com)')).toBe(
      `${to('https://evil.com/', 'https://good.com')} (https://evil.com)`,
    );
    expect(linked('[x](javascript:alert(1)) [y](src/a.ts)')).toBe(
      'x (javascript:alert(1)) y (src/a.ts)',
    );
  });

  test('has room for text however deep it stands', () => {
    const deep = `${'> '.repeat(10)}some words that wrap`;
    expect(plainly(deep, 16).split('\n').length).toBeLessThan(6);
  });
});

function offOf(code: string): string {
  if (code === '1' || code === '2') return '22';
  return code.length === 1 ? `2${code}` : '39';
}
