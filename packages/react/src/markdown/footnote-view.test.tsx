import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { MarkdownView } from './markdown-view.tsx';

const html = (text: string, isOpen = false) =>
  renderToStaticMarkup(<MarkdownView text={text} isOpen={isOpen} />);

test('a reference without a footnote is text', () => {
  expect(html('Use [^a-z] or [^1]')).toContain('Use [^a-z] or [^1]');
  expect(html('Use [^a-z] or [^1]')).not.toContain('<sup');
});

test('while text arrives, a number is raised before its footnote is known', () => {
  expect(html('Sunny[^1], [^a-z]', true)).toContain(
    'Sunny<sup class="footnote-mark">1</sup>, [^a-z]',
  );
});

test('a footnote that arrives later turns its reference into a link, and no other block changes', async () => {
  const page = await openDomPage('http://localhost/app');
  const text = '# Weather\n\nSunny[^1] and warm[^n].\n\nMore.\n\n';
  await page.render(<MarkdownView text={text} isOpen />);
  const before = page.findAll('h2, p');
  expect(page.findAll('.footnote-mark a')).toHaveLength(0);
  await page.render(
    <MarkdownView text={`${text}[^1]: By the *station*.\n[^n]: At noon.`} isOpen />,
  );
  expect(page.findAll('h2, p').slice(0, 3)).toEqual(before);
  expect(page.findAll('.footnote-mark a').map((mark) => mark.textContent)).toEqual(['1', 'n']);
  expect(page.findAll('.footnote').map((note) => note.textContent)).toEqual([
    '1↩By the station.',
    'n↩At noon.',
  ]);
});

test('a reference leads to its footnote, and the footnote leads back to the same reference', async () => {
  const page = await openDomPage('http://localhost/app');
  await page.render(
    <MarkdownView text={'a[^1] b[^1]\n\n[^1]: The *note*.\n\n    More.'} isOpen={false} />,
  );
  const [, second] = page.findAll('.footnote-mark a');
  if (second === undefined) throw new Error('There is no second reference');
  await page.act(() => second.focus());
  const preview = page.find('[role=tooltip]');
  expect(preview.textContent).toBe('The note. More.');
  expect(second.getAttribute('aria-describedby')).toBe(preview.id);
  await page.press(second, 'Escape');
  expect(page.findAll('[role=tooltip]')).toHaveLength(0);
  await page.click(second);
  expect(page.window.document.activeElement === page.find('.footnote')).toBe(true);
  await page.click(page.find('.footnote-back'));
  expect(page.window.document.activeElement === second).toBe(true);
});

test('attack: a label names no element of the page, and the first footnote of a label is valid', () => {
  const shown = html('a[^root] b[^"onclick=x]\n\n[^root]: c\n[^root]: d\n\n[^"onclick=x]: e');
  expect(shown).not.toContain('id="root"');
  expect(shown).not.toMatch(/<[^>]*\sonclick=/);
  expect(shown.match(/class="footnote-back"/g)).toHaveLength(2);
});
