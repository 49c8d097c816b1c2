import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InlineToken } from './inline-token.ts';
import { parseInline } from './parse-inline.ts';

/** Writes tokens as tags. */
function tagged(source: string): string {
  return parseInline(source).map(tag).join('');
}

function tag(token: InlineToken): string {
  switch (token.type) {
    case 'text':
    case 'html':
      return token.text;
    case 'code':
      return `<code>${token.text}</code>`;
    case 'math':
      return `<math${token.isDisplay ? ' display' : ''}>${token.text}</math>`;
    case 'footnote':
      return `<note ${token.label}>`;
    case 'break':
      return '\n';
    case 'open':
      return 'address' in token.mark
        ? `<${token.mark.type} ${token.mark.address}>`
        : `<${token.mark.type}>`;
    case 'close':
      return `</${token.mark.type}>`;
  }
}

/** Markdown source and the expected tags. */
interface Written {
  readonly source: string;
  readonly tags: string;
}

const between = (mark: string, name: string) => (inner: Written) => ({
  source: `${mark}${inner.source}${mark}`,
  tags: `<${name}>${inner.tags}</${name}>`,
});

const { phrase } = fc.letrec<{ word: Written; part: Written; phrase: Written }>((tie) => ({
  word: fc
    .constantFrom('a', 'some words', '漢字', 'snake_case', '2 * 3', 'e.g. `', '!')
    .map((text) => ({
      source: text.replace('`', '\\`'),
      tags: text,
    })),
  part: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('word'),
    tie('phrase').map(between('**', 'strong')),
    tie('phrase').map(between('*', 'emphasis')),
    tie('phrase').map(between('_', 'emphasis')),
    tie('phrase').map(between('~~', 'strike')),
    fc.constant({ source: '`` x`*y ``', tags: '<code>x`*y</code>' }),
    tie('word').map(({ source, tags }) => ({
      source: `[${source}](to "title")`,
      tags: `<link to>${tags}</link>`,
    })),
  ),
  // A word at both ends separates the marks of neighbours.
  phrase: fc.array(tie('part'), { maxLength: 3 }).map((parts) => ({
    source: ['x', ...parts.map(({ source }) => source), 'y'].join(' '),
    tags: ['x', ...parts.map(({ tags }) => tags), 'y'].join(' '),
  })),
}));

describe('text in a line', () => {
  test.each([
    [
      '*a* _b_ **c** __d__ ***e***',
      '<emphasis>a</emphasis> <emphasis>b</emphasis> <strong>c</strong> <strong>d</strong> <emphasis><strong>e</strong></emphasis>',
    ],
    ['**a *b* c**', '<strong>a <emphasis>b</emphasis> c</strong>'],
    ['*a**b*', '<emphasis>a**b</emphasis>'],
    ['snake_case_name and 2*3*4', 'snake_case_name and 2<emphasis>3</emphasis>4'],
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['~~a~~ ~b~ ~~~c~~~ ~~d~', '<strike>a</strike> <strike>b</strike> ~~~c~~~ ~~d~'],
    ['**open', '**open'],
    ['`a *b*` ``c ` d`` `e', '<code>a *b*</code> <code>c ` d</code> `e'],
    ['*a `*` b*', '<emphasis>a <code>*</code> b</emphasis>'],
    [
      '[a *b*](c "t") [d](<e f>) [g](h(i)j)',
      '<link c>a <emphasis>b</emphasis></link> <link e f>d</link> <link h(i)j>g</link>',
    ],
    ['[a [b](c) d](e)', '[a <link c>b</link> d](e)'],
    ['[![a](b)](c)', '<link c><image b>a</image></link>'],
    ['*[a*](b)', '*<link b>a*</link>'],
    ['[a] [b][c] [d](e', '[a] [b][c] [d](e'],
    ['[a](b\\)c)', '<link b)c>a</link>'],
    [
      '<https://a.b> <m@x.y> <a b="*c*"> a < b',
      '<link https://a.b>https://a.b</link> <link mailto:m@x.y>m@x.y</link> <a b="*c*"> a < b',
    ],
    [
      '(see https://a.b/c_(d)). www.e.f!',
      '(see <link https://a.b/c_(d)>https://a.b/c_(d)</link>). <link http://www.e.f>www.e.f</link>!',
    ],
    ['看https://a.b，然后', '看<link https://a.b>https://a.b</link>，然后'],
    ['**https://a.b**', '<strong><link https://a.b>https://a.b</link></strong>'],
    ['\\*a\\* \\q &amp; &#65; &#x41; &nope; &', '*a* \\q & A A &nope; &'],
    ['a  \nb\\\nc\nd<br/>e', 'a\nb\nc\nd\ne'],
    ['$a_1*b_1$ and $*c*$', '<math>a_1*b_1</math> and <math>*c*</math>'],
    [
      '$$ x^2 $$ \\(y\\) \\[ z \\]',
      '<math display>x^2</math> <math>y</math> <math display>z</math>',
    ],
    ['$a \\$ b$, **$c$**', '<math>a \\$ b</math>, <strong><math>c</math></strong>'],
    ['from $5 to $6, US$5, 7$ or $8-$9', 'from $5 to $6, US$5, 7$ or $8-$9'],
    ['`$a$` $`b$`$ \\$c$ $d', '<code>$a$</code> <math>`b</math>`$ $c$ $d'],
    ['a[^1], **b[^n-2]**', 'a<note 1>, <strong>b<note n-2></strong>'],
    [
      '[^1](b) [^a b] [^] \\[^1] `[^1]` [^^]',
      '<link b>^1</link> [^a b] [^] [^1] <code>[^1]</code> [^^]',
    ],
    ['[a[^1] b](c) ![^1]', '<link c>a<note 1> b</link> ![^1]'],
    ['\\(a) \\[b] $$ $$ $', '(a) [b] $$ $$ $'],
  ])('%j', (source, expected) => {
    expect(tagged(source)).toBe(expected);
  });

  test('has hard line breaks where the source asks for them', () => {
    const breaks = parseInline('a\nb \nc  \nd\\\ne<br>f').flatMap((token) =>
      token.type === 'break' ? [token.isHard] : [],
    );
    expect(breaks).toEqual([false, false, true, true, true]);
  });

  test('has addresses without escapes and entities', () => {
    expect(tagged('[a](http://b.c/?d=1&amp;e=2\\_f&nope;)')).toBe(
      '<link http://b.c/?d=1&e=2_f&nope;>a</link>',
    );
    expect(tagged('&#xd800;&#0;')).toBe('\ufffd\ufffd');
  });

  test('has the marks that it was generated from, however they are nested', () => {
    fc.assert(
      fc.property(phrase, ({ source, tags }) => {
        expect(tagged(source)).toBe(tags);
      }),
    );
  });

  test('takes time in proportion to its length, however unbalanced its marks are', () => {
    const marks = [
      '*a ',
      '**a ',
      'a* ',
      'a*b',
      '*a_',
      '**a **b** ',
      '_a *',
      '[',
      '[a](',
      '![',
      '[a](b (',
      '[a](b "',
      '[a](<',
      '](',
      '`',
      '`a ``b ',
      '<',
      '<a ',
      '<!-- ',
      '<a b="',
      '&',
      '&#1',
      '\\',
      '~a',
      '~~a ',
      'http://',
      'www.',
      '![a](b)[',
      '$a ',
      '$a',
      '\\(',
      '$$a',
      '\\$',
      '$\\$',
    ];
    for (const mark of marks) {
      const once = mark.repeat(2_000);
      expect(workOf(once + once), mark).toBeLessThan(2.1 * workOf(once));
      expect(workOf(once), mark).toBeLessThan(8 * once.length);
    }
    const nested = '*a **b '.repeat(2_000) + 'b** a* '.repeat(2_000);
    expect(workOf(nested)).toBeLessThan(8 * nested.length);
    const runs = Array.from({ length: 300 }, (_, length) => '`'.repeat(length)).join(' ');
    expect(workOf(runs)).toBeLessThan(8 * runs.length);
  });
});

function workOf(source: string): number {
  let work = 0;
  parseInline(source, (steps) => {
    work += steps;
  });
  return work;
}
