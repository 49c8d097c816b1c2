import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import { MarkdownView } from './markdown-view.tsx';
import { MarkdownTree } from './tree/markdown-tree.ts';

// A model writes texts that are as long as the page shows with their format.

const footnotes = (count: number) => {
  const labels = Array.from({ length: count }, (_, at) => at);
  const references = labels.map((at) => `x[^${at}]`).join(' ');
  return `${references}\n\n${labels.map((at) => `[^${at}]: note`).join('\n\n')}`;
};

test('18.464: attack: a text of many footnotes has a limited number of elements', () => {
  const nodes = [...new MarkdownTree().read(footnotes(1500), true)];
  // The references cost most of the limit, so few footnotes have their format.
  expect(nodes.filter(({ kind }) => kind === 'footnote').length).toBeLessThan(200);
  const last = nodes.at(-1);
  expect(last?.kind === 'plain' && [...last.pieces].join('')).toMatch(/\[\^1499\]: note$/);
});

test('18.466: usual texts that appear together have their format at once', async () => {
  const page = await openDomPage('http://localhost/app');
  const text = '## Title\n\nSome **words**[^1].\n\n- one\n- two\n\n[^1]: A note.\n\n'.repeat(5);
  const names = Array.from({ length: 30 }, (_, at) => at);
  await page.render(names.map((at) => <MarkdownView key={at} text={text} isOpen={false} />));
  expect(page.findAll('li')).toHaveLength(300);
});
