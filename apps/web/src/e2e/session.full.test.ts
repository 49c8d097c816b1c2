import { expect, test } from 'vitest';
import { patientMs } from '../../../../packages/core/src/testing/runs.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { enabledAllow } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// Tests the page as a user sees it, while the connection fails in various ways.

describeInChromium()('a session on the page', () => {
  const harness = useBrowserHarness();

  test('a reload during an answer loses and duplicates no word, and a second tab follows', async () => {
    const visitor = await harness.visitor();
    const first = await visitor.tab();
    await first.send('count for me');
    const path = await first.taskPath();
    const before = await first.waitForCount(10);
    await first.page.reload();
    const after = await first.waitForCount(before + 10);
    const second = await visitor.tab(path);
    await second.waitForCount(after + 10);
    await first.waitForCount(after + 20);
    harness.server.send('enough');
    for (const tab of [first, second]) await tab.waitForText('END');
    expect(await first.lastCount()).toBeGreaterThan(after);
    expect(await first.answer.innerText()).toBe(await second.answer.innerText());
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('an approval in one tab applies to all tabs', async () => {
    const visitor = await harness.visitor();
    const first = await visitor.tab();
    await first.send('ask me');
    const second = await visitor.tab(await first.taskPath());
    await first.page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    await second.page.getByRole('button', enabledAllow).click();
    for (const tab of [first, second]) {
      await tab.waitForText('Thank you. That is done.');
      await tab.page.getByRole('heading', { name: 'Allow write?' }).waitFor({ state: 'detached' });
      await tab.page.getByRole('group', { name: 'Tool write: done' }).waitFor();
    }
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('a stopped answer keeps its output', async () => {
    harness.server.send('go');
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send('count until I stop you');
    await tab.waitForCount(10);
    await tab.stop.click();
    await tab.stop.waitFor({ state: 'detached' });
    const count = await tab.lastCount();
    const output = await tab.answer.innerText();
    expect(count).toBeGreaterThanOrEqual(10);
    await tab.page.reload();
    await tab.waitForCount(count);
    expect(await tab.answer.innerText()).toBe(output);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('the page reports a killed server and catches up by itself', async () => {
    harness.server.send('go');
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send('count on');
    await tab.waitForCount(10);
    await harness.server.kill();
    const banner = tab.page.locator('.banner');
    await banner.waitFor();
    const countBefore = await tab.lastCount();
    await harness.server.restart();
    await banner.waitFor({ state: 'detached' });
    await tab.page
      .getByText('Interrupted: the process ended. The output so far is kept.')
      .waitFor();
    expect(await tab.lastCount()).toBeGreaterThanOrEqual(countBefore);
    await tab.send('count on, then');
    await tab.page.locator('article[data-kind=assistant]').nth(1).waitFor();
    await tab.waitForCount(20);
    harness.server.send('enough');
    await tab.waitForText('END');
    const live = await tab.transcript.innerText();
    await tab.page.reload();
    // The notice about the interrupted run is drawn after the messages.
    const shown = () => tab.transcript.innerText();
    await expect.poll(shown, { timeout: patientMs(20_000) }).toBe(live);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('an earlier moment looks exactly as it did then, also by a link', async () => {
    harness.server.send('go');
    const visitor = await harness.visitor({ permissions: ['clipboard-read', 'clipboard-write'] });
    const tab = await visitor.tab();
    await tab.send('count the days');
    await tab.waitForCount(30);
    const then = await tab.transcript.innerText();
    await tab.waitForCount(60);
    harness.server.send('enough');
    await tab.waitForText('END');

    await tab.page.getByRole('button', { name: 'Inspector' }).click();
    await tab.dragTo(0.3);
    await tab.dragTo(0.5);
    await tab.stepTo(lastCounted(then));
    expect(await tab.transcript.innerText()).toBe(then);

    await tab.page.getByRole('button', { name: 'Copy a link to this moment' }).click();
    await tab.page.getByRole('button', { name: 'Copied' }).waitFor();
    const link = await tab.page.evaluate<string>('navigator.clipboard.readText()');
    const other = await visitor.tab(link);
    await other.page.getByText('You are viewing an earlier moment.').waitFor();
    const shown = () => other.transcript.innerText();
    await expect.poll(shown, { timeout: patientMs(20_000) }).toBe(then);
    await other.page.getByRole('button', { name: 'Back to now' }).first().click();
    await other.waitForText('END');
    expect(await visitor.allFaults()).toEqual([]);
  });
});

function lastCounted(text: string): number {
  return Number(/w(\d+)\s*$/.exec(text)?.[1]);
}
