// biome-ignore-all lint/suspicious/noControlCharactersInRegex: sequences begin with one
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { colorTheme, plainTheme } from '../theme/theme.ts';
import { highlight, LineHighlighter } from './highlight.ts';
import { languageOf } from './languages.ts';

const { keyword, string, comment, tag, removed } = colorTheme.styles;

const styled = (style: readonly string[], text: string) =>
  `${style.map((code) => `\u001b[${code}m`).join('')}${text}`;

const names = [
  ...['bash', 'c', 'cpp', 'csharp', 'css', 'diff', 'dockerfile', 'elixir', 'go', 'graphql', 'ini'],
  ...['java', 'javascript', 'json', 'kotlin', 'lua', 'makefile', 'markdown', 'perl', 'php'],
  ...['powershell', 'protobuf', 'python', 'ruby', 'rust', 'scss', 'console', 'sql', 'swift'],
  ...['typescript', 'xml', 'yaml'],
];

const code = fc
  .array(
    fc.constantFrom(
      'const a',
      ' = ',
      '"s',
      '"',
      '/* c',
      ' */',
      '//',
      '#',
      "'",
      '`',
      '${',
      '{',
      '}',
      '(',
      ')',
      '<a b="',
      '</',
      '>',
      '\n',
      '\n',
      '  ',
      '1.5',
      '漢',
      '<?php ',
      '<script>',
      '"""',
      '$x',
      ':',
      '- ',
      '@m',
    ),
    { maxLength: 40 },
  )
  .map((pieces) => pieces.join(''));

describe('highlighted code', () => {
  test('has colours for what it is made of', () => {
    const shown = highlight('const a = "b"; // c', 'ts', colorTheme);
    expect(shown).toContain(styled(keyword, 'const'));
    expect(shown).toContain(styled(string, '"b"'));
    expect(shown).toContain(styled(comment, '// c'));
    expect(highlight('-gone', 'diff', colorTheme)).toContain(styled(removed, '-gone'));
  });

  test('says in every language what it said, and no line switches on what it does not switch off', () => {
    fc.assert(
      fc.property(code, fc.constantFrom(...names), (text, language) => {
        const shown = highlight(text, language, colorTheme);
        expect(stripVTControlCharacters(shown)).toBe(text);
        for (const line of shown.split('\n')) {
          expect(line).toMatch(/^[^\u001b]*$|m[^\u001b]*$/);
        }
        expect(highlight(text, language, plainTheme)).toBe(text);
      }),
    );
  });

  test('is plain in a language that is not known, or none', () => {
    for (const language of ['', 'klingon', 'constructor', '__proto__']) {
      expect(highlight('const a = 1;', language, colorTheme)).toBe('const a = 1;');
    }
  });

  test.each([
    ['TS', 'typescript'],
    ['tsx title="a.tsx"', 'typescript'],
    ['{.py}', 'python'],
    ['c++', 'cpp'],
    ['c#', 'csharp'],
    ['shell', 'bash'],
    ['toml', 'ini'],
    ['html', 'xml'],
    ['text', undefined],
  ])('knows %j by its other names', (info, language) => {
    expect(languageOf(info)).toBe(language);
  });

  test.each(names)('is known in %s', (name) => {
    expect(highlight('a "b" 1', name, colorTheme)).toContain('b');
    expect(languageOf(name)).toBeDefined();
  });

  test('shows what would control the terminal', () => {
    expect(highlight('a\u001b[2J\tb', 'ts', plainTheme)).toBe('a␛[2J   b');
  });
});

describe('code line by line', () => {
  const roles = (lines: LineHighlighter, text: string) => lines.line(text).map(({ role }) => role);

  test('knows what is still open: a comment, a string, a block', () => {
    const lines = new LineHighlighter('ts');
    expect(roles(lines, '/* one')).toEqual(['comment']);
    expect(roles(lines, 'two')).toEqual(['comment']);
    expect(roles(lines, 'const */ const')).toEqual(['comment', undefined, 'keyword']);
    expect(roles(lines, 'const')).toEqual(['keyword']);
    const html = highlight('<style>\na { b: c }\n</style>\n<p>', 'html', colorTheme);
    expect(html.split('\n')[1]).not.toBe('a { b: c }');
    expect(html).toContain(styled(tag, '<p>'));
  });

  test('goes on from where it was copied, and neither knows of the other', () => {
    const lines = new LineHighlighter('ts');
    lines.line('/*');
    const copy = lines.copy();
    copy.line('*/');
    expect(roles(lines, 'const')).toEqual(['comment']);
    expect(roles(copy, 'const')).toEqual(['keyword']);
  });

  const workOf = (language: string, text: string) => {
    let work = 0;
    const lines = new LineHighlighter(language, (steps) => {
      work += steps;
    });
    for (const each of text.split('\n')) lines.line(each);
    return work;
  };

  test.each([
    ['a comment without end', 'ts', '/*\n', 'const a = 1;\n'],
    ['a block without end', 'css', '@media x {\n', 'a { color: red; }\nb {\n  c: d;\n}\n'],
    ['lines', 'py', '', 'def f(x): return "y"\n'],
  ])('costs each line little more than itself in %s', (_, language, first, lines) => {
    const text = first + lines.repeat(500);
    expect(workOf(language, text)).toBeLessThan(5 * text.length);
  });

  test('forgets what it cannot keep', () => {
    // A hundred of these lines are longer than the maximum context.
    const line = `\`\${${' '.repeat(40)}\n`;
    expect(workOf('ts', line.repeat(800))).toBeLessThan(2.2 * workOf('ts', line.repeat(400)));
  });

  test('has no colours where it is too long for them', () => {
    const long = `const a = "${'x'.repeat(1_001)}"`;
    expect(highlight(long, 'ts', colorTheme)).toBe(long);
    const lines = new LineHighlighter('ts');
    const line = `const a = "${'x'.repeat(980)}"`;
    const seen = Array.from({ length: 520 }, () => lines.line(line).length > 1);
    expect(seen.slice(0, 500)).not.toContain(false);
    expect(seen.slice(510)).not.toContain(true);
  });
});
