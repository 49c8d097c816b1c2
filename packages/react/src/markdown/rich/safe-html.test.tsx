import fc from 'fast-check';
import { renderToStaticMarkup } from 'react-dom/server';
import { beforeAll, describe, expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { hostilePayloads } from '../../testing/hostile-payloads.ts';
import { loadExtras } from '../extras.ts';
import { MarkdownView } from '../markdown-view.tsx';

beforeAll(loadExtras);

const html = (text: string, isOpen = false) =>
  renderToStaticMarkup(<MarkdownView text={text} isOpen={isOpen} />).replace(
    /^<div class="markdown"[^>]*>(.*)<\/div>$/s,
    '$1',
  );

describe('HTML in Markdown', () => {
  test.each([
    [
      'Press <kbd>Ctrl</kbd>, H<sub>2</sub>O, x<sup>2</sup>',
      '<p dir="auto">Press <kbd>Ctrl</kbd>, H<sub>2</sub>O, x<sup>2</sup></p>',
    ],
    ['<b>a *b*</b> <MARK>c</MARK>', '<p dir="auto"><b>a <em>b</em></b> <mark>c</mark></p>'],
    ['a <b>b', '<p dir="auto">a &lt;b&gt;b</p>'],
    ['a </b> b', '<p dir="auto">a &lt;/b&gt; b</p>'],
    ['*a <b>b* c</b>', '<p dir="auto"><em>a &lt;b&gt;b</em> c&lt;/b&gt;</p>'],
    ['a <b><i>b</b> c</i>', '<p dir="auto">a <b>&lt;i&gt;b</b> c&lt;/i&gt;</p>'],
    [
      'the <abbr title="World Wide Web">WWW</abbr>',
      '<p dir="auto">the <abbr title="World Wide Web">WWW</abbr></p>',
    ],
    [
      'a <b onclick="x()">b</b>',
      '<p dir="auto">a &lt;b onclick=&quot;x()&quot;&gt;b&lt;/b&gt;</p>',
    ],
    [
      'a <b style="color:red">b</b>',
      '<p dir="auto">a &lt;b style=&quot;color:red&quot;&gt;b&lt;/b&gt;</p>',
    ],
    ['a <script>b</script>', '<p dir="auto">a &lt;script&gt;b&lt;/script&gt;</p>'],
    [
      'see <a href="javascript:x()">b</a>',
      '<p dir="auto">see &lt;a href=&quot;javascript:x()&quot;&gt;b&lt;/a&gt;</p>',
    ],
  ])('inline: %j', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  test.each([
    [
      '<table border="1"><tr><th align="right">a<td colspan=2>b &amp; c</table>',
      '<div class="markdown-html" dir="auto"><table><tr><th data-align="right">a</th><td colSpan="2">b &amp; c</td></tr></table></div>',
    ],
    [
      '<ul>\n<li>a\n<li>b\n</ul>',
      '<div class="markdown-html" dir="auto"><ul><li>a\n</li><li>b\n</li></ul></div>',
    ],
    [
      '<div><iframe src="x"></iframe></div>',
      '<div class="markdown-html" dir="auto"><div>&lt;iframe src=&quot;x&quot;&gt;&lt;/iframe&gt;</div></div>',
    ],
    [
      '<details>\n<summary>A **b**</summary>\n\nText\n\n- c\n\n</details>\n\nAfter',
      '<details dir="auto"><summary>A <strong>b</strong></summary><p dir="auto">Text</p><ul dir="auto"><li>c</li></ul></details><p dir="auto">After</p>',
    ],
    [
      '<details>\n\na\n\n<details open>\n\nb\n\n</details>\n\nc\n\n</details>\n\nd',
      '<details dir="auto"><summary>Details</summary><p dir="auto">a</p><details open="" dir="auto"><summary>Details</summary><p dir="auto">b</p></details><p dir="auto">c</p></details><p dir="auto">d</p>',
    ],
  ])('blocks: %j', (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  test('a table that still grows is shown with the rows so far', () => {
    expect(html('<table><tr><td>a</td></tr>\n<tr><td>b', true)).toContain(
      '<tr><td>a</td></tr><tr><td>b</td></tr></table>',
    );
  });

  test('elements that are nested without limit do not fail', () => {
    const shown = html(`${'<b><i>'.repeat(5_000)}a${'</i></b>'.repeat(5_000)}`);
    expect(shown).toContain('a');
    expect(html(`<div>${'<ul><li>'.repeat(2_000)}`)).toContain('&lt;ul&gt;');
    expect(html('<details>\n\n'.repeat(500)).match(/<details dir/g)?.length).toBeLessThan(10);
  });
});

const names = 'b i a img details table td div script iframe svg style form input x'.split(' ');
const attributeNames =
  'onclick onerror ontoggle style src href title open class id srcdoc action formaction ping background align colspan xlink:href'.split(
    ' ',
  );
const values = [
  ...['javascript:x()', 'data:text/html,x', 'https://a.example', '//a.example', 'x', '2', ''],
  ...['JaVaScRiPt:x()', '&#106;avascript:x()', 'java\tscript:x()', 'vbscript:x', 'blob:x'],
];
const attribute = fc
  .tuple(
    fc.constantFrom(...attributeNames),
    fc.constantFrom(...values),
    fc.constantFrom('"', "'", ''),
  )
  .map(([name, value, quote]) => ` ${name}=${quote}${value}${quote}`);
const tag = fc
  .tuple(
    fc.constantFrom('<', '</'),
    fc.constantFrom(...names),
    fc.array(attribute, { maxLength: 3 }),
  )
  .map(([start, name, all]) => `${start}${name}${all.join('')}>`);
const hostileHtml = fc
  .array(fc.oneof(tag, fc.constantFrom('a', ' ', '\n', '\n\n', '*', '<', '>', '"', '<!--')), {
    maxLength: 12,
  })
  .map((pieces) => pieces.join(''));

/**
 * Checks that every tag in the output comes from the page, and that no attribute runs code or loads
 * content.
 */
function expectHarmless(shown: string): void {
  for (const element of shown.match(/<[a-z][^>]*>/gi) ?? []) {
    const bare = element.replaceAll(/="[^"]*"/g, '=""');
    expect(element).not.toMatch(/^<(?:script|iframe|object|embed|style|link|meta|base|form)\b/i);
    expect(bare).not.toMatch(/\s(?:on\w+|style|srcdoc|action|formaction|ping|background)=/i);
    for (const [, address = ''] of element.matchAll(/\s(?:href|src|xlink:href)="([^"]*)"/g))
      expect(address).toMatch(/^(?:https?:|mailto:|#|data:image\/(?:png|jpeg|gif|webp);base64,)/);
  }
}

test('attack: random HTML has no handler, no style and no address outside of the list', () => {
  fc.assert(
    fc.property(hostileHtml, fc.boolean(), (text, isOpen) => expectHarmless(html(text, isOpen))),
    { numRuns: runs(500) },
  );
});

test.each(hostilePayloads.map(({ text }) => text))('attack: %j is harmless', (text) => {
  expectHarmless(html(text));
  expectHarmless(html(`<div>\n${text}\n</div>`));
});
