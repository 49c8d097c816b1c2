import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';

test('22.2: dropped files are accepted in every language', async () => {
  const page = await openDomPage('http://localhost/');
  const { Composer } = await import('./composer.tsx');
  const { LabelsContext } = await import('../../labels/use-labels.ts');
  const { german } = await import('../../labels/de.ts');
  await page.render(
    <LabelsContext value={german}>
      <Composer draftKey="dropped" placeholder="" onSend={async () => {}} />
    </LabelsContext>,
  );
  const { Event } = page.window;
  const over = Object.assign(new Event('dragover', { bubbles: true, cancelable: true }), {
    dataTransfer: { types: ['Files'] },
  });
  await page.act(() => void page.window.document.body.dispatchEvent(over));
  // Otherwise the browser leaves the page and opens the file.
  expect(over.defaultPrevented).toBe(true);
  expect(page.find('.composer').hasAttribute('data-dropping')).toBe(true);
});
