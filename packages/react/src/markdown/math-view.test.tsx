import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { hostilePayloads } from '../testing/hostile-payloads.ts';
import { loadExtras } from './extras.ts';
import { highlight } from './highlight.ts';
import { MarkdownView } from './markdown-view.tsx';
import { renderMath } from './render-math.ts';

const formulas = ['$x^2$', '$$\\frac{a}{b}$$', '\\(y\\)', '\\[z\\]', '$$\n\\sum_i i\n$$'];

test('formulas are drawn, and screen readers get MathML', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  await page.render(<MarkdownView text={formulas.join('\n\n')} isOpen={false} />);
  expect(page.findAll('.katex-mathml math')).toHaveLength(formulas.length);
  expect(page.findAll('.math[data-display]')).toHaveLength(3);
  expect(page.findAll('.math > code')).toEqual([]);
});

test('a formula that is not valid, or not complete yet, is shown as its source', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  await page.render(<MarkdownView text={'$\\frac{a$ costs\n\n$$\nx'} isOpen />);
  expect(page.findAll('.katex')).toEqual([]);
  expect(page.find('.math > code').textContent).toBe('$\\frac{a$');
  expect(page.find('.code pre').textContent).toBe('x');
});

test('a formula or code that is nested too deep is shown as its source', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  const deep = (depth: number) => `${'\\sqrt{'.repeat(depth)}x${'}'.repeat(depth)}`;
  await page.render(<MarkdownView text={`$${deep(50)}$ and $${deep(51)}$`} isOpen={false} />);
  expect(page.findAll('.katex-mathml')).toHaveLength(1);
  expect(page.findAll('.math > code').map(({ textContent }) => textContent)).toEqual([
    `$${deep(51)}$`,
  ]);
  expect(await highlight('['.repeat(500), 'json')).toBeDefined();
  expect(await highlight('[\n'.repeat(40_000), 'json')).toBeUndefined();
});

test.each([
  '\\def\\a{xx}\\a\\a',
  '\\newcommand{\\a}{xx}\\a',
  '\\let\\a=x\\a',
  '\\global\\edef\\a{x}\\a',
])('18.142: attack: a formula that defines macros blocks the page: %s', async (text) => {
  const page = await openDomPage('http://localhost/app');
  const place = page.window.document.createElement('div');
  expect(renderMath(text, place as unknown as HTMLElement, true)).toBe(false);
  expect(place.children).toHaveLength(0);
});

test('18.142: attack: thousands of formulas block the page', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  const text = Array.from({ length: 40 }, () => `$x${' + y'.repeat(60)}$`).join(' ');
  await page.render(<MarkdownView text={text} isOpen={false} />);
  const first = page.findAll('.katex-mathml').length;
  expect(first).toBeGreaterThan(5);
  expect(first).toBeLessThan(30);
  await expect.poll(() => page.findAll('.katex-mathml').length).toBe(40);
  await expect.poll(() => page.findAll('.math > code')).toEqual([]);
});

test('a hostile formula creates no link, no image, no id, no foreign class and no large box', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  const texts = hostilePayloads.flatMap(({ kind, text }) => (kind === 'math' ? text : []));
  expect(texts.length).toBeGreaterThan(9);
  for (const text of texts) {
    const place = page.window.document.createElement('div');
    renderMath(text.replace(/^\$+|\$+$/g, ''), place as unknown as HTMLElement, true);
    const all = place.querySelectorAll('*');
    for (const element of all) {
      const names = [...element.attributes].map(({ name }) => name);
      const isBad = (name: string) => /^on|href|src|^id$|^data-/.test(name);
      expect(names.filter(isBad), text).toEqual([]);
      expect(element.className, text).not.toMatch(/dialog/);
      expect(element.getAttribute('style') ?? '', text).not.toMatch(
        /url|fixed|(?<![.\d])\d{3,}[.\d]*em/,
      );
    }
  }
});
