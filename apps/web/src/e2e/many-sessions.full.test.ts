import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { type ChatTab, enabledAllow } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A user has more sessions than fit on the screen. The page shows which sessions wait for an
// answer.

describeInChromium()('many sessions', () => {
  const harness = useBrowserHarness();

  const listed = ({ page }: ChatTab, title: string) =>
    page.getByRole('navigation', { name: 'Sessions' }).getByRole('link', { name: title });

  test('a session that waits for an approval is marked in the list, also after a restart', async () => {
    const visitor = await harness.visitor();
    const asking = await visitor.tab();
    await asking.send('ask me about the weather');
    await asking.page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    await waitForTitle(asking, 'Waits for you · ask me about the weather');
    const other = await visitor.tab('/app/overview');
    const waits = listed(other, 'ask me about the weather').getByText('waits for you');
    await waits.waitFor();
    await other.page.getByRole('heading', { name: 'Running 1 1 waits for you' }).waitFor();

    await harness.server.kill();
    await harness.server.restart();
    await other.page.reload();
    await waits.waitFor();

    // The open session updates immediately, without waiting for the next poll of the list.
    await asking.page.getByRole('button', enabledAllow).click();
    await asking.waitForText('Thank you. That is done.');
    await waitForTitle(asking, 'ask me about the weather');
    for (const tab of [asking, other])
      await listed(tab, 'ask me about the weather')
        .getByText('waits for you')
        .waitFor({ state: 'detached' });
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('a session that is too old for the list is found by its name', async () => {
    await makeTasks(harness.server.url, [
      'The very first order',
      ...Array.from({ length: 220 }, String),
    ]);
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.page.getByRole('button', { name: 'Older sessions' }).waitFor();
    expect(await listed(tab, 'The very first order').count()).toBe(0);
    await tab.page.getByRole('searchbox', { name: 'Find a session' }).fill('FIRST order');
    await listed(tab, 'The very first order').click();
    await tab.page.getByRole('heading', { level: 1, name: 'The very first order' }).waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});

async function waitForTitle({ page }: ChatTab, start: string): Promise<void> {
  await page.waitForFunction(`document.title.startsWith(${JSON.stringify(start)})`);
}

/** Creates the tasks in order, so that the first one is the oldest. */
async function makeTasks(url: string, titles: readonly string[]): Promise<void> {
  const send = async (path: string, method: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
  };
  for (const title of titles) {
    const answer = await send('/agents/name/builder/rpc', 'POST', { method: 'task/create' });
    const { result } = (await answer.json()) as { readonly result: { readonly id: string } };
    await send(`/tasks/${result.id}`, 'PUT', { task_metadata: { title } });
  }
}
