import { renderToStaticMarkup } from 'react-dom/server';
import { beforeAll, expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { loadExtras } from './extras.ts';
import { MarkdownView } from './markdown-view.tsx';

beforeAll(loadExtras);

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
    /^<\/?(?:div|p|a|span|ul|li|input|table|colgroup|col|thead|tbody|tr|th|td|figure|figcaption|pre|code|button|svg|path|rect)\b/;
  for (const tag of tags) {
    expect(tag).toMatch(own);
    expect(tag).not.toMatch(/\son\w+=|javascript:|vbscript:|\ssrc=|href="(?!https?:|mailto:)/i);
  }
});

test('a link opens its address in a tab that cannot access the page', () => {
  expect(html('[a](https://example.com/b)')).toContain(
    'href="https://example.com/b" target="_blank" rel="noopener noreferrer nofollow"',
  );
});

test.each([
  ['[https://bank.example/login](https://evil.example)', '</a> (https://evil.example/)'],
  ['[*www.bank.example*](https://evil.example)', '</a> (https://evil.example/)'],
  ['[`bank.example`](https://evil.example)', '</a> (https://evil.example/)'],
  ['![bank.example/](http://evil.example)', 'Picture: bank.example/</a>'],
  ['[https://bank.example](https://bank.example/)', 'https://bank.example</span></a></p>'],
  ['[our bank](https://bank.example/)', 'our bank</a></p>'],
])('18.83: attack: %s does not hide where it leads', (text, shown) => {
  expect(html(text)).toContain(shown);
});

test('common Markdown has the expected elements', () => {
  const shown = html('## A *b* `c&amp;d` &amp; e\n\n1. x\n2. y\n\n> q\n\n~~z~~');
  expect(shown).toContain(
    '<h2 data-depth="2" dir="auto">A <em>b</em> <code>c&amp;amp;d</code> &amp; e</h2>',
  );
  expect(shown).toContain('<ol dir="auto"><li>x</li><li>y</li></ol>');
  expect(shown).toContain('<blockquote dir="auto"><p dir="auto">q</p></blockquote>');
  expect(shown).toContain('<del>z</del>');
});

test('each block has the direction of its text', () => {
  const shown = html('مرحبا\n\nhello\n\n- שלום');
  expect(shown).toContain('<p dir="auto">مرحبا</p>');
  expect(shown).toContain('<p dir="auto">hello</p>');
  expect(shown).toContain('<ul dir="auto"><li>שלום');
});

test.each([
  [
    '- a\n  1. b\n\n     c\n- d',
    '<ul dir="auto"><li>a<ol dir="auto"><li>b<p dir="auto">c</p></li></ol></li><li>d</li></ul>',
  ],
  ['3) a\n4) b', '<ol start="3" dir="auto"><li>a</li><li>b</li></ol>'],
  ['- a\n\n- b', '<ul dir="auto"><li>a</li><li data-apart="true">b</li></ul>'],
  ['-\n- b', '<ul dir="auto"><li></li><li>b</li></ul>'],
  [
    '- [ ] a\n- [x] b',
    '<ul dir="auto"><li data-task="true"><input type="checkbox" aria-label="To do" readOnly="" disabled=""/>a</li><li data-task="true"><input type="checkbox" aria-label="Done" readOnly="" disabled="" checked=""/>b</li></ul>',
  ],
  [
    '> a\n>\n> > b',
    '<blockquote dir="auto"><p dir="auto">a</p><blockquote dir="auto"><p dir="auto">b</p></blockquote></blockquote>',
  ],
  ['a\nb  \nc\\\nd', '<p dir="auto">a\nb<br/>c<br/>d</p>'],
  ['***a** b* ~~c~~', '<p dir="auto"><em><strong>a</strong> b</em> <del>c</del></p>'],
  ['# a\n---', '<h2 data-depth="1" dir="auto">a</h2><hr/>'],
  ['<form>\n*a*\n</form>', '<p data-plain="true" dir="auto">&lt;form&gt;\n*a*\n&lt;/form&gt;</p>'],
  ['[a](/b)', '<p dir="auto"><span title="This link is not followed">a</span></p>'],
])('%j', (text, expected) => {
  expect(html(text)).toBe(`<div class="markdown">${expected}</div>`);
});

test('a table has aligned cells, and as many in each row as in its head', () => {
  expect(html('|a|b|c|\n|:-|:-:|-:|\n|1|**2**|\n')).toContain(
    '<thead><tr><th data-align="left">a</th><th data-align="center">b</th><th data-align="right">c</th></tr></thead>' +
      '<tbody><tr><td data-align="left">1</td><td data-align="center"><strong>2</strong></td><td data-align="right"></td></tr></tbody></table>',
  );
});

test('a picture without encryption is a link, and a picture inside of a link is text', () => {
  expect(html('![a *b*](http://c.example)')).toContain(
    'title="http://c.example/">Picture: a <em>b</em></a>',
  );
  expect(html('![](http://c.example)')).toContain('>Picture: http://c.example</a>');
  const nested = html('[![a](https://b.example)](https://c.example)');
  expect(nested.match(/<a /g)).toHaveLength(1);
  expect(nested).toContain('<span>Picture: a</span></a>');
});

test('code is shown with its tabs, and its language above it', () => {
  const shown = html('```make\nall:\n\techo\n```');
  expect(shown).toContain('<code>all:\n\techo</code>');
  expect(shown).toContain('<span class="code-lang">make</span>');
});

test('marks that are nested without limit do not fail, and no word is lost', () => {
  const shown = html('*a **b '.repeat(2_000) + 'c** d* '.repeat(2_000));
  expect(shown.match(/<(?:em|strong)>/g)?.length).toBeLessThan(64);
  expect(shown.match(/[abcd]\b/g)?.filter((word) => word === 'c')).toHaveLength(2_000);
});

test('elements of finished blocks stay in the page while more text arrives', async () => {
  const page = await openDomPage('http://localhost/app');
  const block = '# Title\n\nWords\n\n- one\n- two\n\n```ts\nlet a;\n```\n\n| a |\n|---|\n| 1 |\n\n';
  const source = block.repeat(30);
  const elements = 'h2, p, ul, li, figure, pre, table, tr';
  await page.render(<MarkdownView text={source} isOpen />);
  const before = page.findAll(elements);
  expect(before).toHaveLength(30 * 10);
  for (const more of ['W', 'Words *and', 'Words *and more*\n\n', `Words *and more*\n\n${block}`]) {
    await page.render(<MarkdownView text={source + more} isOpen />);
    const after = page.findAll(elements);
    for (const [index, element] of before.entries()) expect(after[index] === element).toBe(true);
  }
  await page.render(<MarkdownView text={`${source}Words *and more*\n\n${block}`} isOpen={false} />);
  const last = page.findAll(elements);
  for (const [index, element] of before.entries()) expect(last[index] === element).toBe(true);
  expect(page.findAll('em').map((element) => element.textContent)).toEqual(['and more']);
});
