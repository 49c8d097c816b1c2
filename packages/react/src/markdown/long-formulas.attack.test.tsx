import { expect, test } from 'vitest';
import { fewOf } from '../../../core/src/testing/runs.ts';
import { openDomPage } from '../testing/dom-page.ts';
import { loadExtras } from './extras.ts';
import { highlight } from './highlight.ts';
import { MarkdownView } from './markdown-view.tsx';
import { previewOf } from './rich/code-preview.tsx';
import type { MarkdownNode } from './tree/markdown-node.ts';
import { MarkdownTree } from './tree/markdown-tree.ts';

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

test('18.181: attack: a diagram with many nested subgraphs is drawn only after a click', () => {
  const nested = (count: number) =>
    `flowchart TB\n${'subgraph a\n'.repeat(count)}b\n${'end\n'.repeat(count)}`;
  expect(previewOf('mermaid', nested(10), true)?.isFirst).toBe(true);
  expect(previewOf('mermaid', nested(120), true)?.isFirst).toBe(false);
});

test.each([
  ['c', 'a'],
  ['ini', '-'],
  ['csharp', 'a '],
])('18.167: attack: a long line of %s is not highlighted', async (lang, piece) => {
  expect(await highlight(`int a;\n${piece.repeat(2000)}\n`, lang)).toBeUndefined();
});

test('18.167: attack: long code is highlighted in parts, between which the page reacts', async () => {
  const text = 'int a; // b\n'.repeat(5000);
  let parts = 0;
  const pieces = await highlight(text, 'c', () => ++parts < 0);
  expect(parts).toBeGreaterThanOrEqual(15);
  expect(pieces?.map((one) => one.text).join('')).toBe(text);
  expect(await highlight(text, 'c', () => true)).toBeUndefined();
});

// Comparing a tag of 50,000 blanks took seconds, so a tag that is too long is not compared.
test.each([`<details>${' '.repeat(10_000)}`, `<details${' '.repeat(10_000)}>`])(
  '18.165: attack: a <details> tag that is too long is shown as HTML',
  (text) => {
    const [first] = new MarkdownTree().read(`${text}\n\nWord\n`, true);
    expect(first?.kind).toBe('html');
  },
);

test('18.165: a <details> element with a summary is read', () => {
  const text = '<details open>\n  <summary>More of it</summary>  \n\nWord\n\n</details>';
  const [first] = new MarkdownTree().read(text, true);
  expect(first).toMatchObject({ kind: 'details', summary: 'More of it', isOpen: true });
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

/** Counts the nodes of a text, including the nodes inside of other nodes and the rows of tables. */
function countNodes(nodes: Iterable<MarkdownNode>): number {
  let count = 0;
  for (const node of nodes) {
    count++;
    if (node.kind === 'table') count += [...node.parts].flat().length;
    if (node.kind === 'list') for (const item of node.items) count += countNodes(item.children);
    if ('children' in node) count += countNodes(node.children);
  }
  return count;
}

const manyBlocks = {
  'code blocks': '```js\na\n```\n',
  headings: '# a\n',
  'rows of a table': '|a|b|\n',
  items: '- a\n',
  'nested quotes': '> > a\n\n',
  'lines of HTML': '<b>\n\n',
};

test.each(fewOf(Object.entries(manyBlocks), 1))(
  '18.222: attack: a text of many %s has a limited number of elements, and misses nothing',
  (kind, block) => {
    const isTable = kind === 'rows of a table';
    const head = isTable ? '|a|b|\n|-|-|\n' : '';
    const text = `${head}${block.repeat(isTable ? 12_000 : 6000)}the end`;
    const tree = new MarkdownTree();
    const nodes = tree.read(text, true);
    expect(countNodes(nodes)).toBeLessThan(8100);
    expect(nodes.last?.kind).toBe('plain');
    const rest = nodes.last?.kind === 'plain' ? [...nodes.last.pieces].join('') : '';
    expect(rest.endsWith('the end')).toBe(true);
    expect(rest.split(block.trim().split('\n')[0] ?? '').length).toBeGreaterThan(1000);
    // Text that grows ends as the same nodes.
    const growing = new MarkdownTree();
    for (const part of [0.1, 0.3, 0.6, 0.9]) growing.read(text.slice(0, part * text.length), false);
    expect(growing.read(text, true)).toEqual(nodes);
  },
);

const manyInline = {
  formulas: '$x$ ',
  'pieces of code': '`a` ',
  'strong words': '**a** ',
  links: '[a](https://a.example) ',
  footnotes: '[^a] ',
  'line breaks': 'a\\\n',
  tags: '<b>a</b> ',
};

test.each(fewOf(Object.entries(manyInline), 1))(
  '18.330: attack: a paragraph with many %s has a limited number of elements, and its rest is plain text',
  async (_kind, piece) => {
    const page = await openDomPage('http://localhost/app');
    await loadExtras();
    const text = `${piece.repeat(18_000)}the end`;
    await page.render(<MarkdownView text={text} isOpen={false} />);
    expect(page.findAll('p *:not(.katex *)').length).toBeLessThan(16_000);
    expect(page.findAll('.katex-mathml math').length).toBeLessThan(200);
    const nodes = new MarkdownTree().read(text, true);
    const rest = nodes.last?.kind === 'plain' ? [...nodes.last.pieces].join('') : '';
    expect(rest.endsWith('the end')).toBe(true);
    expect(page.text()).toMatch(/the end\s*$/);
  },
);

test('a long answer keeps the format of all its blocks', () => {
  const part = '## Title\n\nWords.\n\n- one\n- two\n\n```js\na\n```\n\n|a|b|\n|-|-|\n|c|d|\n\n';
  const nodes = new MarkdownTree().read(part.repeat(200), true);
  expect([...nodes].filter(({ kind }) => kind === 'plain')).toEqual([]);
});

const wideCsv = `\`\`\`csv\n${`${','.repeat(63)}\n`.repeat(101)}\`\`\`\n\n`;

test('18.324: attack: a wide code block in CSV shows very many cells at once', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  await page.render(<MarkdownView text={wideCsv} isOpen={false} />);
  expect(page.findAll('th, td').length).toBeLessThan(1100);
  expect(page.findAll('tbody tr')).toHaveLength(15);
});

test('18.324: attack: the cells of code blocks in CSV do not count', () => {
  const small = '```tsv\ntown\train\nBern\t2\n```\n\n';
  const nodes = [
    ...new MarkdownTree().read(`${small.repeat(30)}${wideCsv.repeat(50)}${small}`, true),
  ];
  const blocks = nodes.filter(({ kind }) => kind === 'code');
  expect(blocks.length).toBeGreaterThan(35);
  expect(blocks.length).toBeLessThan(40);
  const last = nodes.at(-1);
  expect(last?.kind === 'plain' && [...last.pieces].join('')).toMatch(
    /^```csv[\s\S]*Bern\t2\n```$/,
  );
});
