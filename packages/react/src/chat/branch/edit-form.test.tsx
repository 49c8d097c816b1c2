import type { HTMLTextAreaElement } from 'happy-dom';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';

async function renderForm(send: (text: string) => Promise<void> = () => new Promise(() => {})) {
  const page = await openDomPage('http://localhost/app/tasks/s');
  const { EditForm } = await import('./edit-form.tsx');
  const { drafts } = await import('../composer/draft.ts');
  drafts.write('edit', '');
  const sent: string[] = [];
  let closed = 0;
  const form = (key: string) => (
    <EditForm
      key={key}
      {...{ draftKey: 'edit', text: 'Rain?', hasFiles: false }}
      onSend={(text) => {
        sent.push(text);
        return send(text);
      }}
      onClose={() => {
        closed++;
      }}
    />
  );
  await page.render(form('first'));
  const field = () => page.find('textarea') as HTMLTextAreaElement;
  return { page, sent, field, reopen: () => page.render(form('second')), closed: () => closed };
}

test('22.9: typing changes the message, and Enter sends it once', async () => {
  const { page, sent, field } = await renderForm();
  expect(page.window.document.activeElement).toBe(field());
  expect(field().selectionStart).toBe('Rain?'.length);
  await page.type(field(), 'Snow?');
  await page.press(field(), 'Enter', { shiftKey: true });
  expect(sent).toEqual([]);
  await page.press(field(), 'Enter');
  await page.press(field(), 'Enter');
  expect(sent).toEqual(['Snow?']);
});

test('Escape cancels, and the typed text is there when the message is edited again', async () => {
  const { page, sent, field, reopen, closed } = await renderForm();
  await page.type(field(), 'Snow?');
  await page.press(field(), 'Escape');
  expect([sent, closed()]).toEqual([[], 1]);
  await reopen();
  expect(field().value).toBe('Snow?');
  await page.type(field(), '');
  expect(field().value).toBe('');
});

test('a failure is shown and keeps the text, and a sent text is not kept', async () => {
  let isDown = true;
  const { page, field, reopen } = await renderForm(async () => {
    if (isDown) throw new Error('No room');
  });
  await page.type(field(), 'Snow?');
  await page.press(field(), 'Enter');
  expect(page.find('[role=alert]').textContent).toBe('No room');
  expect(field().value).toBe('Snow?');
  isDown = false;
  await page.press(field(), 'Enter');
  await reopen();
  expect(field().value).toBe('Rain?');
});
