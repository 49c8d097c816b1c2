import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('a session that waits or fails', () => {
  const harness = useBrowserHarness();

  test('22.1, 22.7, 22.9: waiting calls have no tick, and Escape stops the question', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    await tab.send('write\n"one"\n"two"');
    await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    await page.getByRole('group', { name: 'Tool write: waits for your answer' }).nth(1).waitFor();
    expect(await page.locator('.status-mark[data-status=done]').count()).toBe(0);
    await tab.send('then tell me');
    await page.getByText('sent after your answer').waitFor();
    await tab.stop.waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Stopped. The output so far is kept.').waitFor();
    const session = page.locator('.task-link[aria-current=page]');
    await session.getByText('stopped').waitFor();
    expect(await session.innerText()).not.toContain('in progress');
    await page.getByText('stopped: sent with your next message').waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('22.9: the page retries a failed run in place, and no spinner turns without a connection', async () => {
    harness.server.send('go');
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    await tab.send('fail now');
    const retry = page.getByRole('button', { name: 'Retry' });
    await retry.click();
    await page.locator('article[data-kind=assistant]').nth(1).waitFor();
    expect(await page.locator('article[data-kind=user]').count()).toBe(1);
    await retry.waitFor();
    await tab.send('count on');
    await tab.waitForCount(10);
    await harness.server.kill();
    await page.getByText('Last known: Writing').waitFor();
    expect(await page.locator('.activity .spinner').count()).toBe(0);
    await harness.server.restart();
    await page.getByText('Interrupted: the process ended.').waitFor();
  });
});
