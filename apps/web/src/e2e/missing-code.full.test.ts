import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// The page loads much of its code when the user needs it. A request for such code can fail, for
// example while the server restarts.

/** Answers requests for a file with an error. Returns a function that ends this. */
async function fail(page: Page, file: RegExp): Promise<() => Promise<void>> {
  await page.route(file, (route) => route.fulfill({ status: 503 }));
  return () => page.unroute(file);
}

const message = 'A part of the page could not be loaded.';

describeInChromium()('22: code that cannot be loaded', () => {
  const harness = useBrowserHarness();

  test('is loaded again at the next click, and a message says so', async () => {
    // A service worker would answer the requests.
    const visitor = await harness.visitor({ serviceWorkers: 'block' });
    const tab = await visitor.tab();
    const { page } = tab;
    const alert = page.getByRole('alert').filter({ hasText: message });
    const settings = page.getByRole('button', { name: 'Settings' });
    const repairSettings = await fail(page, /settings-dialog-.*\.js/);
    await settings.click();
    await alert.waitFor();
    await repairSettings();
    await settings.click();
    await page.getByRole('dialog', { name: 'Settings' }).waitFor();
    await alert.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    await tab.send('say\nHello');
    await tab.waitForText('Hello');
    const repairForm = await fail(page, /edit-form-.*\.js/);
    await page.getByRole('button', { name: 'Edit this message in a branch' }).click();
    await alert.waitFor();
    await repairForm();
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('textbox', { name: 'Edit your message' }).waitFor();
    await alert.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    // The style sheet of a part can fail too.
    const repairStyles = await fail(page, /inspector-panel-.*\.css/);
    await page.getByRole('button', { name: 'Inspector' }).click();
    await alert.waitFor();
    await repairStyles();
    await alert.getByRole('button', { name: 'Try again' }).click();
    await tab.waitForScrubber();
    await expect
      .poll(() => page.locator('link[href*="inspector-panel"]').evaluateAll(sheetCount))
      .toBe(1);
    expect(await visitor.allFaults()).toEqual([]);
  });
});

function sheetCount(links: readonly { readonly sheet?: object | null }[]): number {
  return links.filter(({ sheet }) => sheet != null).length;
}
