import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('a server that requires a token', () => {
  const harness = useBrowserHarness();

  test('receives a valid token, also after Escape was pressed several times', async () => {
    const visitor = await harness.visitor();
    const page = await visitor.context.newPage();
    const tokens: (string | undefined)[] = [];
    await page.route('**/agents?*', (route) => {
      const { authorization } = route.request().headers();
      tokens.push(authorization);
      const json = { message: 'Who are you?', code: 401, data: null };
      return authorization === 'Bearer sesame'
        ? route.fulfill({ json: [] })
        : route.fulfill({ status: 401, json });
    });
    await page.route('**/tasks?*', (route) => route.fulfill({ json: [] }));
    await page.goto('/');
    const dialog = page.getByRole('dialog', { name: 'This server requires a token' });
    await dialog.waitFor();
    for (let presses = 0; presses < 3; presses++) {
      await page.keyboard.press('Escape');
      // Waits until the page has handled this key press.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
    }
    const token = dialog.getByRole('textbox', { name: 'Token' });
    await token.fill('open☃sesame');
    await token.press('Enter');
    await dialog.getByText('A token with “☃” in it cannot be sent.').waitFor();
    await token.fill('sesame');
    await token.press('Enter');
    await page.getByText('There are no agents.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(new Set(tokens)).toEqual(new Set([undefined, 'Bearer sesame']));
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('receives no stored token that cannot be sent', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.page.evaluate("sessionStorage.setItem('millrace:token', 'open☃sesame')");
    const streamRequest = tab.page.waitForRequest('**/stream?view=records');
    await tab.page.goto('/app/tasks/none');
    expect((await streamRequest).headers()['authorization']).toBeUndefined();
    await tab.page.getByRole('link', { name: 'New session' }).waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});
