import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { CitationsView } from './citations-view.tsx';
import { RemoteMedia } from './media-content.tsx';

// A provider names a page or a file with a link that signs the user in with a token of another user.

const addresses = [
  ['http://127.0.0.1:5003/#token=mr_evil', 'http://127.0.0.1:5003/'],
  ['http://localhost/app#%74oken=mr_evil', 'http://localhost/app'],
  ['http://localhost/app#part', 'http://localhost/app#part'],
] as const;

test.each(addresses)('18.182: attack: the source %s leads to %s', (url, safe) => {
  const metadata = { citations: [{ url, title: 'Weather', raw: {} }] };
  const shown = renderToStaticMarkup(<CitationsView metadata={metadata} />);
  expect(shown).toContain(`href="${safe}"`);
});

test.each(addresses)('18.182: attack: the file %s leads to %s', (url, safe) => {
  expect(renderToStaticMarkup(<RemoteMedia url={url} name="a.pdf" />)).toContain(`href="${safe}"`);
});
