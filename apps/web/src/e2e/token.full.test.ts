import { createToken } from '@millrace/server';
import { expect, test } from 'vitest';
import { useBrowserHarness, useBrowserHarnessFor } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';
import { PageServer } from './testing/page-server.ts';

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
    const streamRequest = tab.page.waitForRequest(/\/stream\?view=records/);
    await tab.page.goto('/app/tasks/none');
    expect((await streamRequest).headers()['authorization']).toBeUndefined();
    await tab.page.getByRole('link', { name: 'New session' }).waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});

describeInChromium()('a link with the token', () => {
  const token = createToken();
  const harness = useBrowserHarnessFor(() => PageServer.start(token));

  test('signs the user in, also after a reload and after a restart of the server', async () => {
    const visitor = await harness.visitor();
    const page = await visitor.context.newPage();
    const first = page.waitForResponse(/\/agents\?/);
    await page.goto(`/#token=${token}`);
    expect((await first).status()).toBe(200);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.reload();
    await harness.server.kill();
    await harness.server.restart();
    const agents = page.waitForResponse(/\/agents\?/);
    await page.reload();
    expect((await agents).status()).toBe(200);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('works when it is opened in a tab that already shows the page', async () => {
    const visitor = await harness.visitor();
    const page = await visitor.context.newPage();
    await page.goto('/');
    const dialog = page.getByRole('dialog', { name: 'This server requires a token' });
    await dialog.waitFor();
    await page.goto(`/#token=${token}`);
    await dialog.waitFor({ state: 'detached' });
    expect(page.url()).not.toContain(token);
    // A new tab of the same page gets the token from this tab.
    const second = await visitor.context.newPage();
    const accepted = second.waitForResponse(
      (response) => /\/agents\?/.test(response.url()) && response.status() === 200,
    );
    await second.goto('/app/overview');
    await accepted;
    expect(await visitor.allFaults()).toEqual([]);
  });
});
