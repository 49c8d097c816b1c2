import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import { hostilePayloads } from '../../testing/hostile-payloads.ts';
import { CitationsView, citedSources } from './citations-view.tsx';

const metadata = {
  citations: [
    {
      url: 'https://weather.example/bern',
      title: 'Weather in Bern',
      raw: { type: 'web_search_result_location', cited_text: 'It rains on Monday.' },
    },
    {
      url: 'https://weather.example/bern',
      title: 'Weather in Bern',
      raw: { cited_text: 'It is dry on Tuesday.' },
    },
    { url: 'https://other.example/a', raw: 'r' },
    { raw: { document_title: 'report.pdf', cited_text: 'Page 3.' } },
  ],
};

test('citations of the same page are one source with all of its quotes', () => {
  expect(citedSources(metadata)).toEqual([
    {
      title: 'Weather in Bern',
      address: 'https://weather.example/bern',
      host: 'weather.example',
      quotes: ['It rains on Monday.', 'It is dry on Tuesday.'],
    },
    {
      title: 'other.example',
      address: 'https://other.example/a',
      host: 'other.example',
      quotes: [],
    },
    { title: 'report.pdf', address: undefined, host: undefined, quotes: ['Page 3.'] },
  ]);
});

test('a source shows its host, and its quotes when it has the focus', async () => {
  const page = await openDomPage('http://localhost/app');
  await page.render(<CitationsView metadata={metadata} />);
  expect(page.text()).toContain('Weather in Bern weather.example');
  const [first] = page.findAll('.citation-title');
  await page.act(() => first?.focus());
  expect(page.find('[role=tooltip]').textContent).toBe('It rains on Monday.It is dry on Tuesday.');
  await page.press(first ?? page.find('none'), 'Escape');
  expect(page.findAll('[role=tooltip]')).toEqual([]);
});

test.each([{}, { citations: 'x' }, { citations: [] }])('%j has no sources', (other) => {
  expect(renderToStaticMarkup(<CitationsView metadata={other} />)).toBe('');
});

test.each(hostilePayloads.map(({ text }) => text))('attack: %j as a source is text', (text) => {
  const hostile = { citations: [{ url: text, title: text, raw: { cited_text: text, url: text } }] };
  const shown = renderToStaticMarkup(<CitationsView metadata={hostile} />);
  expect(shown.replaceAll(/="[^"]*"/g, '=""')).not.toMatch(
    /<(?:script|img|iframe|svg)|<[^>]*\son\w+=/,
  );
  for (const [, address = ''] of shown.matchAll(/href="([^"]*)"/g))
    expect(address).toMatch(/^(?:https?|mailto):/);
});

test('attack: a source without a safe address is no link', () => {
  const hostile = { citations: [null, 3, { url: 'javascript:x()', title: 'a', raw: null }] };
  expect(renderToStaticMarkup(<CitationsView metadata={hostile} />)).not.toContain('href');
});
