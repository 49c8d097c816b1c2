import type { HTMLDialogElement } from 'happy-dom';
import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';

// On the first Escape, a browser lets the page cancel the closing. On the second Escape, it closes
// the dialog anyway.

async function renderDialog(onClose?: () => void) {
  const page = await openDomPage('http://localhost/');
  const { Dialog } = await import('./dialog.tsx');
  await page.render(
    <Dialog title="A question" onClose={onClose}>
      words
    </Dialog>,
  );
  const dialog = page.find('dialog') as HTMLDialogElement;
  return { dialog, closeIt: () => page.act(() => dialog.close()) };
}

test('a required dialog opens again when the browser closes it', async () => {
  const { dialog, closeIt } = await renderDialog();
  expect(dialog.open).toBe(true);
  await closeIt();
  expect(dialog.open).toBe(true);
});

test('an optional dialog reports every way of closing', async () => {
  let closed = 0;
  const { closeIt } = await renderDialog(() => {
    closed++;
  });
  await closeIt();
  expect(closed).toBe(1);
});
