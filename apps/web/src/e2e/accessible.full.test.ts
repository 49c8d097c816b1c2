import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { enabledAllow } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('accessibility', () => {
  const harness = useBrowserHarness();

  test('22.12: axe finds no violation in light mode, in dark mode and on a phone', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    const faults: string[] = [];
    const check = async (where: string) =>
      faults.push(...(await axeFaults(page)).map((fault) => `${where}: ${fault}`));
    await tab.message.waitFor();
    await check('new');
    await tab.send('tell me');
    await tab.waitForText('See the protocol');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await tab.unfold(/^Thought/);
    await check('an answer');
    await tab.send('tools');
    await tab.waitForText('Done: a duplicate record');
    await tab.unfold(/^run/);
    await tab.unfold(/^patch/);
    await tab.send('write\n"one"\n"two"');
    for (let left = 2; left > 0; left--) await page.getByRole('button', enabledAllow).click();
    await tab.waitForText('That was all of it.');
    await page.getByRole('group', { name: 'Tool write: done' }).nth(1).waitFor();
    await tab.send('ask me');
    await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    await check('tools and a question');
    await page.getByRole('button', { name: 'Edit this message in a branch' }).first().click();
    await page.getByRole('textbox', { name: 'Edit your message' }).waitFor();
    await check('the field that edits a message');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Inspector' }).click();
    await tab.dragTo(0.5);
    await page.getByRole('tree', { name: 'Spans' }).getByRole('treeitem').first().waitFor();
    await check('the spans of the inspector');
    await page.getByRole('tab', { name: 'Records' }).click();
    await page.getByRole('listbox', { name: 'Records' }).getByRole('option').first().waitFor();
    await check('the inspector');
    await page.goto('/app/overview');
    await page.getByRole('heading', { name: 'Usage and cost' }).waitFor();
    await check('the overview');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await check('help');
    expect(faults).toEqual([]);
  });

  test('everything works without a mouse', async () => {
    harness.server.send('go');
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    const { keyboard } = page;
    const focusOn = (name: string) => tab.tabTo(name);
    await tab.message.waitFor();
    await focusOn('Message');
    await keyboard.type('ask me');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    // The card accepts an answer only after a short time. This call waits for it.
    await page.getByRole('button', enabledAllow).click({ trial: true });
    await keyboard.press('Alt+y');
    await tab.waitForText('Thank you. That is done.');

    await focusOn('Message');
    await keyboard.type('count');
    await keyboard.press('Enter');
    await tab.waitForCount(10);
    await keyboard.press('Escape');
    await tab.stop.waitFor({ state: 'detached' });
    expect(await tab.lastCount()).toBeGreaterThanOrEqual(10);

    await focusOn('Inspector');
    await keyboard.press('Enter');
    await focusOn('Moment of the session');
    await tab.waitForScrubber();
    await keyboard.press('Home');
    await page.getByText('You are viewing an earlier moment.').waitFor();
    for (let at = 0; (await tab.lastCount()) < 5 && at < 500; at++)
      await keyboard.press('ArrowRight');
    expect(await tab.lastCount()).toBe(5);
    await keyboard.press('End');
    await tab.waitForCount(10);
    await focusOn('Close the inspector');
    await keyboard.press('Enter');
    await tab.slider.waitFor({ state: 'detached' });

    await focusOn('Inspector');
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
    expect(await visitor.allFaults()).toEqual([]);
  });
});
