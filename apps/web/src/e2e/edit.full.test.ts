import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

interface Pressable {
  readonly document: { querySelector(selector: string): { click(): void } | null };
}

/** Presses the edit button as soon as it exists. Returns false if it does not exist. */
function pressEdit(): boolean {
  const { document } = globalThis as unknown as Pressable;
  const button = document.querySelector('[aria-label="Edit this message in a branch"]');
  button?.click();
  return button !== null;
}

describeInChromium()('editing a sent message', () => {
  const harness = useBrowserHarness();

  test('happens at the message, keeps its files, and the branches are a switch there', async () => {
    const tab = await (await harness.visitor()).tab();
    const { page } = tab;
    const note = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('leaks') };
    await page.locator('.composer input[type=file]').setInputFiles(note);
    await tab.send('First');
    await tab.waitForText('note.txt (text/plain, 5 bytes)');
    const path = await tab.taskPath();
    const message = page.locator('article[data-kind=user]');
    const edit = message.getByRole('button', { name: 'Edit this message in a branch' });
    const field = message.getByRole('textbox', { name: 'Edit your message' });
    await edit.focus();
    await page.keyboard.press('Enter');
    await field.waitFor();
    expect(await field.inputValue()).toBe('First');
    await field.fill('Second');
    await field.press('Escape');
    await message.getByText('First', { exact: true }).waitFor();
    await page.waitForFunction("document.activeElement?.ariaLabel?.startsWith('Edit this')");
    expect(new URL(page.url()).pathname).toBe(path);
    await page.keyboard.press('Enter');
    expect(await field.inputValue()).toBe('Second');
    await field.press('Enter');
    await message.getByText('Second', { exact: true }).waitFor();
    await tab.waitForText('note.txt (text/plain, 5 bytes)');
    await message.getByText('2 / 2').waitFor();
    // The sidebar shows the branch below its session.
    await page
      .locator('.task-branches')
      .getByRole('link', { name: /^Second/ })
      .waitFor();
    await message.getByRole('button', { name: 'Previous branch' }).click();
    await message.getByText('First', { exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(path);
  });

  test('22.12: does not end when the list follows an answer and the row leaves the screen', async () => {
    const tab = await (await harness.visitor({ viewport: { width: 1280, height: 480 } })).tab();
    const { page } = tab;
    const { promise: isLate, resolve: load } = Promise.withResolvers<void>();
    await page.route('**/edit-form*.js', async (route) => {
      await isLate;
      await route.continue();
    });
    harness.server.send('go');
    await tab.send('count');
    // Programs that help to read a page press a button without scrolling to it.
    await page.waitForFunction(pressEdit);
    await tab.waitForCount(450);
    load();
    const field = page.getByRole('textbox', { name: 'Edit your message' });
    await field.waitFor();
    await page.keyboard.type(' again');
    await tab.transcript.hover();
    await page.mouse.wheel(0, 100_000);
    await page.getByText(/\bw450\b/).waitFor();
    await field.scrollIntoViewIfNeeded();
    expect(await field.inputValue()).toBe('count again');
    await field.press('Escape');
    await field.waitFor({ state: 'detached' });
    harness.server.send('enough');
    await page.getByRole('button', { name: 'To the end' }).click();
    await tab.waitForText('END');
  });
});
