import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import type { ChatSource } from '../state/chat-source.ts';

test.each([
  ['to save', { type: 'bytes', bytes: new Uint8Array([1]) }],
  ['at another address', { type: 'url', url: 'https://files.test/a' }],
  ['at a blocked address', { type: 'url', url: 'javascript:1' }],
] as const)('the name of a file %s has visible escapes', async (_what, of) => {
  const page = await openDomPage('http://page.test/');
  const { MediaView } = await import('./media-view.tsx');
  const part = { kind: 'file', name: 'invoice\u202Efdp.html', mimeType: 'text/html' } as const;
  await page.render(<MediaView source={{} as ChatSource} part={{ ...part, source: of }} />);
  expect(page.text()).toContain('invoice\\u202Efdp.html');
});
