import { expect, test } from 'vitest';
import { MillraceContext } from '../../context.ts';
import { german } from '../../labels/de.ts';
import { LabelsContext } from '../../labels/use-labels.ts';
import { openDomPage } from '../../testing/dom-page.ts';
import { loadExtras } from '../extras.ts';
import { BlobSource } from '../link-view.tsx';
import { MarkdownView } from '../markdown-view.tsx';

const pixel = 'data:image/png;base64,iVBORw0KGgo=';

async function opened(text: string, blob: (hash: string) => Promise<Blob>) {
  const page = await openDomPage('http://localhost/app');
  // The test page has no layout, so nothing comes into sight there.
  Object.defineProperty(page.window, 'IntersectionObserver', { value: undefined });
  await loadExtras();
  await page.render(
    <MillraceContext value={{ framesUrl: '/frames/' }}>
      <BlobSource value={{ blob }}>
        <MarkdownView text={text} isOpen={false} />
      </BlobSource>
    </MillraceContext>,
  );
  return page;
}

const noBlob = () => Promise.reject(new Error('There is no such blob'));

test('a remote picture is a card with its host until the user agrees', async () => {
  const page = await opened('![A *map*](https://maps.example/a.png)', noBlob);
  expect(page.findAll('img, iframe')).toEqual([]);
  expect(page.find('.picture-card').textContent).toBe(
    'A mapPicture from maps.exampleShow pictureAlways from this host',
  );
  await page.click(page.find('.picture-card button'));
  expect(page.find('iframe').getAttribute('title')).toBe('A map');
  expect(page.find('iframe').getAttribute('sandbox')).toBe('allow-scripts');
});

test('an application without frames shows a remote picture as a link, and code without previews', async () => {
  const page = await openDomPage('http://localhost/app');
  await loadExtras();
  const text = '![A map](https://maps.example/a.png)\n\n```html\n<p>Hello</p>\n```\n';
  await page.render(<MarkdownView text={text} isOpen={false} />);
  expect(page.findAll('.picture-card, iframe')).toEqual([]);
  expect(page.find('a').getAttribute('href')).toBe('https://maps.example/a.png');
  expect(page.findAll('button').map((one) => one.textContent)).not.toContain('Preview');
});

test('the user can agree to all pictures of a host', async () => {
  const text =
    '![a](https://b.example/1.png) ![c](https://b.example/2.png) ![d](https://e.example/)';
  const page = await opened(text, noBlob);
  await page.click(page.findAll('.picture-card button')[1] ?? page.find('none'));
  expect(page.findAll('iframe').map((frame) => frame.getAttribute('title'))).toEqual(['a', 'c']);
  expect(page.findAll('.picture-card')).toHaveLength(1);
});

test('a picture of the session is shown at once, and other content is not', async () => {
  const asked: string[] = [];
  const blob = async (hash: string) => {
    asked.push(hash);
    return new Blob(['x'], { type: hash.endsWith('svg') ? 'image/svg+xml' : 'image/png' });
  };
  const text = '![a](/tasks/t1/blobs/0123456789abcdef) ![b](blobs/0123456789abcsvg)';
  const page = await opened(text, blob);
  expect(asked).toEqual(['0123456789abcdef', '0123456789abcsvg']);
  expect(page.findAll('img').map((image) => image.getAttribute('alt'))).toEqual(['a']);
  expect(page.find('img').getAttribute('src')).toMatch(/^blob:/);
  expect(page.text()).toContain('Picture: b');
});

test.each([
  ['a picture in the text itself is shown', pixel, 1],
  ['attack: a document in the text is not', 'data:image/svg+xml;base64,iVBORw0KGgo=', 0],
  ['attack: a picture without encryption is not', 'http://a.example/b.png', 0],
  ['attack: a path of the server is not', '/tasks/t1/commands', 0],
  ['attack: a path out of the blobs is not', '/tasks/t1/blobs/../../commands', 0],
])('%s', async (_, address, shown) => {
  const page = await opened(`![a](${address})`, noBlob);
  expect(page.findAll('img')).toHaveLength(shown);
  expect(page.findAll('iframe, .picture-card')).toEqual([]);
});

test('22.8: links, pictures and frames are named in the language of the page', async () => {
  const page = await openDomPage('http://localhost/app');
  Object.defineProperty(page.window, 'IntersectionObserver', { value: undefined });
  await loadExtras();
  const text = '[a](javascript:b) ![c](http://d.example/e.png)\n\n```mermaid\ngraph TD\n```';
  await page.render(
    <LabelsContext value={german}>
      <MillraceContext value={{ framesUrl: '/frames/' }}>
        <MarkdownView text={text} isOpen={false} />
      </MillraceContext>
    </LabelsContext>,
  );
  expect(page.find('[title="Diesem Link wird nicht gefolgt"]').textContent).toBe('a');
  expect(page.text()).toContain('Bild: c');
  expect(page.find('iframe').getAttribute('title')).toBe(german.diagram);
});
