import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';

const diff = '@@ -1,2 +1,2 @@\n const a = 1;\n-const b = 2;\n+const b = 3;';

test('a diff marks the words that changed, and has two sides on request', async () => {
  const page = await openDomPage('http://page.test/');
  const { DiffView, diffSides } = await import('./diff-view.tsx');
  await diffSides.load();
  await page.render(<DiffView diff={diff} />);
  expect(page.findAll('.diff-word').map(({ textContent }) => textContent)).toEqual(['2', '3']);
  expect(page.findAll('.diff-pair')).toEqual([]);
  await page.click(page.find('.diff-switch button'));
  const sides = page
    .findAll('.diff-pair')
    .map((pair) => [...pair.querySelectorAll('.diff-line')].map(({ textContent }) => textContent));
  expect(sides).toEqual([
    ['1const a = 1;', '1const a = 1;'],
    ['2−const b = 2;', '2+const b = 3;'],
  ]);
  await page.click(page.find('.diff-switch button'));
  expect(page.findAll('.diff-pair')).toEqual([]);
});
