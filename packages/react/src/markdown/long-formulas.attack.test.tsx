import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { loadExtras } from './extras.ts';
import { MarkdownView } from './markdown-view.tsx';
import { previewOf } from './rich/code-preview.tsx';

// A model writes a text that keeps the page busy, or that signs the user in with another token.

test.each([
  '\\def\\a{xxxx}\\a\\a',
  '\\gdef\\a{x}\\a',
  '\\edef\\a{x}\\a',
  '\\xdef\\a{x}\\a',
  '\\let\\a=x\\a',
  '\\global\\let\\a=x',
  '\\newcommand\\a{x}\\a',
  '\\newcommand{\\a}{x}\\a',
  '\\renewcommand{\\alpha}{x}\\alpha',
  '\\providecommand{\\a}{x}\\a',
])(
  '18.133: attack: the formula %s, which defines a macro, is shown as its source',
  async (text) => {
    const page = await openDomPage('http://localhost/app');
    await loadExtras();
    await page.render(<MarkdownView text={`$${text}$ and $\\left(x\\right)$`} isOpen={false} />);
    expect(page.findAll('.katex-mathml math')).toHaveLength(1);
    expect(page.find('.math > code').textContent).toBe(`$${text}$`);
  },
);

test('18.133: attack: many formulas are drawn in several steps', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  const formula = `$${'x + '.repeat(100)}y$`;
  await page.render(<MarkdownView text={`${formula}\n\n`.repeat(40)} isOpen={false} />);
  const drawn = () => page.findAll('.katex-mathml math').length;
  expect(drawn()).toBeLessThan(30);
  await expect.poll(drawn).toBe(40);
});

test('18.151: attack: a long diagram is drawn only after a click', () => {
  const lines = (count: number) => `sequenceDiagram\n${'  A->>B: hello\n'.repeat(count)}`;
  expect(previewOf('mermaid', lines(100), true)?.isFirst).toBe(true);
  expect(previewOf('mermaid', lines(1500), true)?.isFirst).toBe(false);
});

test.each([
  ['[report](http://127.0.0.1:5003/#token=mr_evil)', 'http://127.0.0.1:5003/'],
  ['[report](http://localhost/app/overview#token=mr_evil)', 'http://localhost/app/overview'],
  ['[report](http://localhost/app#%74oken=mr_evil)', 'http://localhost/app'],
  ['<http://localhost/#TOKEN=x>', 'http://localhost/'],
  ['<a href="http://localhost/#token=x">report</a>', 'http://localhost/'],
  ['[report](http://localhost/#part)', 'http://localhost/#part'],
])('18.134: attack: the link %s leads to %s and signs nobody in', async (text, address) => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  await page.render(<MarkdownView text={text} isOpen={false} />);
  expect(page.find('a').getAttribute('href')).toBe(address);
});
