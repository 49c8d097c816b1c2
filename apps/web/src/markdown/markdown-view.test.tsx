import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { MarkdownView } from './markdown-view.tsx';

const html = (text: string) => renderToStaticMarkup(<MarkdownView text={text} isOpen={false} />);

test.each([
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  'a <svg onload=alert(1)> b',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '[x](vbscript:msgbox)',
  '[x](/agents/name/x/rpc)',
  '<javascript:alert(1)>',
  '![x](https://evil.example/pixel.png)',
  '![x](data:image/svg+xml,<svg onload=alert(1)>)',
  '```"><script>\nx\n```',
  '| <script>a</script> |\n|---|\n| <img src=x onerror=b> |',
  '- [ ] <iframe src=//evil.example>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
])('%j runs nothing and loads nothing', (text) => {
  const shown = html(text);
  const tags = shown.match(/<[^>]*>/g) ?? [];
  const own =
    /^<\/?(?:div|p|a|span|ul|li|input|table|thead|tbody|tr|th|td|figure|figcaption|pre|code|button|svg|path|rect)\b/;
  for (const tag of tags) {
    expect(tag).toMatch(own);
    expect(tag).not.toMatch(/\son\w+=|javascript:|vbscript:|\ssrc=|href="(?!https?:|mailto:)/i);
  }
});

test('a link leads where it says, in a tab that cannot reach back', () => {
  expect(html('[a](https://example.com/b)')).toContain(
    'href="https://example.com/b" target="_blank" rel="noopener noreferrer nofollow"',
  );
});

test('what people write comes out as what they mean', () => {
  const shown = html('## A *b* `c&amp;d` &amp; e\n\n1. x\n2. y\n\n> q\n\n~~z~~');
  expect(shown).toContain(
    '<h2 data-depth="2" dir="auto">A <em>b</em> <code>c&amp;amp;d</code> &amp; e</h2>',
  );
  expect(shown).toContain('<ol dir="auto"><li>x</li><li>y</li></ol>');
  expect(shown).toContain('<blockquote dir="auto"><p dir="auto">q</p></blockquote>');
  expect(shown).toContain('<del>z</del>');
});

test('words that are read from right to left are set so, block by block', () => {
  const shown = html('مرحبا\n\nhello\n\n- שלום');
  expect(shown).toContain('<p dir="auto">مرحبا</p>');
  expect(shown).toContain('<p dir="auto">hello</p>');
  expect(shown).toContain('<ul dir="auto"><li>שלום');
});
