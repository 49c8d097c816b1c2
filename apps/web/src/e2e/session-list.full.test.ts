import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A user sorts the session list into folders. A second browser shows the same list.

describeInChromium()('the session list', () => {
  const harness = useBrowserHarness();

  const navigation = ({ page }: ChatTab): Locator =>
    page.getByRole('navigation', { name: 'Sessions' });
  const link = (tab: ChatTab, title: string) =>
    navigation(tab).getByRole('link', { name: title, exact: false });
  const group = (tab: ChatTab, name: string) =>
    navigation(tab)
      .locator('.task-group')
      .filter({ has: tab.page.getByRole('heading', { level: 3, name }) });
  const choose = async (tab: ChatTab, title: string, action: string) => {
    await link(tab, title).hover();
    await tab.page.getByRole('button', { name: `Actions for ${title}` }).click();
    await tab.page.getByRole('menuitem', { name: action }).click();
  };

  test('rename, pin, folder, archive and delete, seen in another browser', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    for (const text of ['alpha', 'beta', 'gamma', 'delta']) {
      await tab.page.getByRole('link', { name: 'New session' }).click();
      await tab.send(`say\n${text}`);
      await tab.waitForText(text);
      await tab.taskPath();
      await choose(tab, 'say', 'Rename');
      await tab.page.getByRole('textbox', { name: 'Title' }).fill(text);
      await tab.page.keyboard.press('Enter');
      await tab.page.getByRole('heading', { level: 1, name: text }).waitFor();
      await link(tab, text).waitFor();
    }
    await choose(tab, 'alpha', 'Pin');
    await group(tab, 'Pinned').getByRole('link', { name: 'alpha' }).waitFor();
    await choose(tab, 'beta', 'Move to folder');
    await tab.page.getByRole('combobox', { name: 'Folder' }).fill('Trips');
    await tab.page.getByRole('button', { name: 'Move' }).click();
    await group(tab, 'Trips').getByRole('link', { name: 'beta' }).waitFor();
    await choose(tab, 'gamma', 'Archive');
    await link(tab, 'gamma').waitFor({ state: 'detached' });
    expect(await axeFaults(tab.page)).toEqual([]);

    const other = await (await harness.visitor()).tab();
    await group(other, 'Pinned').getByRole('link', { name: 'alpha' }).waitFor();
    await group(other, 'Trips').getByRole('link', { name: 'beta' }).waitFor();
    await group(other, 'Today').getByRole('link', { name: 'delta' }).waitFor();
    expect(await link(other, 'gamma').count()).toBe(0);
    await other.page.getByRole('button', { name: 'Archived sessions' }).click();
    await other.page.getByRole('button', { name: 'Put gamma back' }).click();
    await other.page.keyboard.press('Escape');
    await group(other, 'Today').getByRole('link', { name: 'gamma' }).waitFor();

    // The open session is deleted with the keyboard alone.
    await link(tab, 'delta').focus();
    await tab.page.keyboard.press('Delete');
    await tab.page.getByText('“delta” will be deleted').waitFor();
    await tab.page.getByRole('button', { name: 'Delete', exact: true }).click();
    await tab.page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'delta' }).waitFor();
    await link(tab, 'delta').waitFor({ state: 'detached' });
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('several sessions are archived at once, and a branch is below its origin', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { url } = harness.server;
    const first = await createTask(url, { title: 'Refund' });
    await createTask(url, { title: 'Edited refund', branch: { of: first, after: null } });
    await createTask(url, { title: 'Order 1' });
    await createTask(url, { title: 'Order 2' });
    await tab.page.reload();
    const branches = navigation(tab).locator('.task-branches');
    await branches.getByText('1 branch').click();
    await branches.getByRole('link', { name: 'Edited refund' }).waitFor();
    await choose(tab, 'Order 1', 'Select several');
    await tab.page.getByRole('checkbox', { name: 'Select Order 2' }).check();
    const bar = tab.page.getByRole('region', { name: 'Selected sessions' });
    await bar.getByText('2 selected').waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await bar.getByRole('button', { name: 'Archive' }).click();
    for (const title of ['Order 1', 'Order 2'])
      await link(tab, title).waitFor({ state: 'detached' });
    expect(await visitor.allFaults()).toEqual([]);
  });
});

/** Creates a task with this metadata and returns its id. */
async function createTask(url: string, task_metadata: object): Promise<string> {
  const body = { method: 'task/create', params: { task_metadata } };
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`${url}/agents/name/builder/rpc`, init);
  return ((await response.json()) as { result: { id: string } }).result.id;
}
