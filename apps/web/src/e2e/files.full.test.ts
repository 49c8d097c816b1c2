import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A user attaches files with the button, by dropping and by pasting. The model receives them.

const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFElEQVR4nGNgmHMGK2IYWhLYRAEWc1bBDSKCHgAAAABJRU5ErkJggg==',
  'base64',
);
const note = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('The kettle leaks.') };

/** Dispatches an event with a file, as the browser does for a drop or a paste. */
const give = (type: 'drop' | 'paste', name: string) => `{
  const data = new DataTransfer();
  data.items.add(new File(['from the ${type}'], '${name}', { type: 'text/plain' }));
  const target = document.querySelector('.composer textarea');
  const options = { bubbles: true, cancelable: true };
  target.dispatchEvent(${
    type === 'drop'
      ? "new DragEvent('drop', { ...options, dataTransfer: data })"
      : "new ClipboardEvent('paste', { ...options, clipboardData: data })"
  });
}`;

describeInChromium()('files of a message', () => {
  const harness = useBrowserHarness();
  const pick = (
    { page }: ChatTab,
    files: Parameters<ReturnType<typeof page.locator>['setInputFiles']>[0],
  ) => page.locator('.composer input[type=file]').setInputFiles(files);
  const chips = ({ page }: ChatTab) => page.getByRole('list', { name: 'Files of this message' });

  test('are attached by button, drop and paste, removed, and reach the model', async () => {
    const tab = await (await harness.visitor()).tab();
    await pick(tab, [{ name: 'tap.png', mimeType: 'image/png', buffer: picture }, note]);
    await tab.page.evaluate(give('drop', 'dropped.txt'));
    await tab.page.evaluate(give('paste', 'pasted.txt'));
    const names = ['tap.png', 'note.txt', 'dropped.txt', 'pasted.txt'];
    for (const name of names) await chips(tab).getByText(name, { exact: true }).waitFor();
    await chips(tab).locator('img').waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await tab.page.getByRole('button', { name: 'Remove note.txt' }).click();
    await tab.send('See these');
    await tab.waitForText('tap.png (image/png');
    await tab.waitForText('dropped.txt (text/plain, 13 bytes)');
    await tab.waitForText('pasted.txt (text/plain, 14 bytes)');
    expect(await tab.answer.getByText('note.txt').count()).toBe(0);
    const sent = tab.page.locator('article[data-kind=user]');
    await sent.getByRole('img', { name: 'tap.png' }).waitFor();
    await chips(tab).waitFor({ state: 'detached' });
    await tab.page.reload();
    await sent.getByRole('img', { name: 'tap.png' }).waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
  });

  test('stay with the text when an upload fails, and are sent by the next try', async () => {
    const tab = await (await harness.visitor()).tab();
    await pick(tab, note);
    const uploads = '**/tasks/*/files?*';
    await tab.page.route(uploads, (route) =>
      route.fulfill({ status: 400, json: { message: 'Not today', code: 400, data: null } }),
    );
    await tab.send('See this');
    await tab.page.getByRole('alert').getByText('note.txt could not be sent').waitFor();
    expect(await tab.message.inputValue()).toBe('See this');
    await tab.page.unroute(uploads);
    await tab.message.press('Enter');
    await tab.waitForText('note.txt (text/plain, 17 bytes)');
    // The second try used the same session.
    expect(await tab.page.getByRole('link', { name: /See this/ }).count()).toBe(1);
  });

  test('that are too large are refused before they are sent', async () => {
    const tab = await (await harness.visitor()).tab();
    const buffer = Buffer.alloc(10 * 2 ** 20 + 1);
    await pick(tab, [{ name: 'film.mp4', mimeType: 'video/mp4', buffer }, note]);
    await tab.page.getByRole('alert').getByText('film.mp4 has 10 MB').waitFor();
    await chips(tab).getByText('note.txt').waitFor();
    expect(await chips(tab).getByRole('listitem').count()).toBe(1);
  });
});
