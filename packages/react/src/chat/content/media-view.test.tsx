import { expect, onTestFinished, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import type { ChatSource } from '../state/chat-source.ts';

test.each([
  ['to save', { type: 'bytes', bytes: new Uint8Array([1]) }],
  ['at another address', { type: 'url', url: 'https://files.test/a' }],
  ['at a blocked address', { type: 'url', url: 'javascript:1' }],
] as const)('the name of a file %s has visible escapes', async (_what, of) => {
  const page = await openDomPage('http://page.test/');
  const { MediaView, mediaContent } = await import('./media-view.tsx');
  await mediaContent.load();
  const part = { kind: 'file', name: 'invoice\u202Efdp.html', mimeType: 'text/html' } as const;
  await page.render(<MediaView source={{} as ChatSource} part={{ ...part, source: of }} />);
  expect(page.text()).toContain('invoice\\u202Efdp.html');
});

test.each([
  ['application/pdf', 'application/pdf', ['report', 'Open']],
  ['text/html', 'application/octet-stream', ['report']],
])('a file of the type %s is a blob of the type %s', async (mimeType, type, names) => {
  const page = await openDomPage('http://page.test/');
  const { MediaView, mediaContent } = await import('./media-view.tsx');
  await mediaContent.load();
  const types: string[] = [];
  const { createObjectURL } = URL;
  URL.createObjectURL = (blob) => {
    types.push((blob as Blob).type);
    return 'blob:http://page.test/1';
  };
  onTestFinished(() => {
    URL.createObjectURL = createObjectURL;
  });
  const of = { type: 'bytes', bytes: new Uint8Array([1]) } as const;
  const part = { kind: 'file', name: 'report', mimeType, source: of } as const;
  await page.render(<MediaView source={{} as ChatSource} part={part} />);
  expect(types).toEqual([type]);
  const links = page.findAll('a');
  expect(links.map((link) => link.textContent?.trim())).toEqual(names);
  expect(links[0]?.getAttribute('download')).toBe('report');
  expect(links[1]?.getAttribute('rel') ?? 'noopener').toBe('noopener');
});
