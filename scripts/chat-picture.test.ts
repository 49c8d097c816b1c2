import { describe, expect, test } from 'vitest';
import { colorOf, palette } from './chat-picture/palette.ts';
import { screenToSvg } from './chat-picture/screen-to-svg.ts';

const picture = { columns: 20, title: 'a <title>' };

interface DrawnText {
  readonly x: number;
  readonly length: number;
  readonly style: string;
  readonly text: string;
}

/** Returns the texts that are drawn for a screen, in order. */
function textsOf(...lines: readonly string[]): readonly DrawnText[] {
  const found = screenToSvg(lines, picture).matchAll(
    /<text x="([\d.]+)" y="[\d.]+" textLength="([\d.]+)"[^>]*?(?: style="([^"]*)")?>([^<]*)<\/text>/g,
  );
  return [...found].map(([, x, length, style = '', text = '']) => ({
    ...{ x: Number(x), length: Number(length), style, text },
  }));
}

test('XML special characters are escaped', () => {
  const svg = screenToSvg(['a < b && "c" > d'], picture);
  expect(svg).toContain('a &lt; b &amp;&amp; &quot;c&quot; &gt; d');
  expect(svg).toContain('a &lt;title&gt;');
  expect(svg.match(/<text\b/g)).toHaveLength(svg.match(/<\/text>/g)?.length ?? 0);
});

describe('a colour', () => {
  test.each([
    ['31', '#ff7b72'],
    ['92', '#56d364'],
    ['38;5;1', '#ff7b72'],
    ['38;5;208', '#ff8700'],
    ['38;5;244', '#808080'],
    ['38;2;1;2;255', '#0102ff'],
    ['48:2::1:2:255', '#0102ff'],
    ['1', undefined],
  ])('of %s is %s', (code, color) => {
    expect(colorOf(code)).toBe(color);
  });

  test('applies until it is reset', () => {
    const [red, bold, plain] = textsOf('\u001b[31mred\u001b[39m\u001b[1mbold\u001b[0mplain');
    expect(red).toMatchObject({ text: 'red', style: 'fill:#ff7b72' });
    expect(bold).toMatchObject({ text: 'bold', style: 'font-weight:bold' });
    expect(plain).toMatchObject({ text: 'plain', style: '' });
  });

  test('becomes the background of reversed text', () => {
    const svg = screenToSvg(['\u001b[32;7mon\u001b[0m'], picture);
    expect(svg).toContain('fill="#3fb950"');
    expect(svg).toContain(`fill:${palette.background}`);
  });
});

describe('a position', () => {
  const cell = (textsOf('ab').at(0)?.length ?? 0) / 2;
  const left = textsOf('a').at(0)?.x ?? 0;
  const columnsOf = (line: string) =>
    textsOf(line).map(({ x, length, text }) => [
      text,
      Math.round((x - left) / cell),
      Math.round(length / cell),
    ]);

  test('is set for each separated text, so that it does not depend on the font', () => {
    expect(columnsOf('one two   three')).toEqual([
      ['one two', 0, 7],
      ['three', 10, 5],
    ]);
  });

  test('counts wide characters as two cells, and joined characters as none', () => {
    expect(columnsOf('a漢b👩‍👩‍👧e\u0301')).toEqual([
      ['a', 0, 1],
      ['漢', 1, 2],
      ['b', 3, 1],
      ['👩‍👩‍👧', 4, 2],
      ['e\u0301', 6, 1],
    ]);
  });
});

test('escape sequences other than colours are not drawn', () => {
  expect(textsOf('\u001b]8;;https://example.com\u0007link\u001b]8;;\u0007')).toMatchObject([
    { text: 'link' },
  ]);
});
