import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { enabledAllow } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A user answers an approval request in the overview, and reads the charts of the model requests.

describeInChromium()('the overview', () => {
  const harness = useBrowserHarness();

  test('answers a question in place, and shows charts whose filters are in the address', async () => {
    const visitor = await harness.visitor();
    const chat = await visitor.tab();
    await chat.send('ask me about the weather');
    await chat.page.getByRole('heading', { name: 'Allow write?' }).waitFor();

    const { page } = await visitor.tab('/app/overview');
    await page.getByRole('button', { name: 'Answer ask me about the weather' }).click();
    await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', enabledAllow).click();
    await chat.waitForText('Thank you. That is done.');
    await page.getByText('Nothing runs.').waitFor();

    await page.reload();
    const requests = page.getByRole('figure', { name: /Requests and errors/ });
    await requests.getByText('Values as a table').click();
    await requests.getByRole('row').nth(1).waitFor();
    await page.getByRole('link', { name: 'Last 7 days' }).click();
    await page.waitForURL('**/app/overview?range=7d');
    await page.reload();
    await page
      .getByRole('link', { name: 'Last 7 days' })
      .and(page.locator('[aria-current]'))
      .waitFor();
    await requests.waitFor();
    expect(await axeFaults(page)).toEqual([]);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
