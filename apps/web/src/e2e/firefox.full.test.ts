import type { Browser } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { type ChatTab, enabledAllow } from './testing/chat-tab.ts';
import { describeInFirefox, launchFirefox } from './testing/needs-chromium.ts';
import { PageServer } from './testing/page-server.ts';
import { TalkServer } from './testing/talk-server.ts';

/** Types a message and sends it. WebDriver BiDi has no command that fills in a field. */
async function type({ message }: ChatTab, ...lines: readonly string[]): Promise<void> {
  for (const [index, line] of lines.entries()) {
    if (index > 0) await message.press('Shift+Enter');
    await message.pressSequentially(line);
  }
  await message.press('Enter');
}

describeInFirefox()('the page in Firefox', () => {
  let browser: Promise<Browser> | undefined;
  const launch = () => {
    browser ??= launchFirefox();
    return browser;
  };
  const chat = useBrowserHarnessFor(() => PageServer.start(), launch);
  const talk = useBrowserHarnessFor(() => TalkServer.start(), launch);
  afterAll(async () => (await browser)?.close());

  test('shows formulas, sends files, and switches between branches', async () => {
    const visitor = await chat.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    await type(tab, 'say', '$$x^2 + y^2$$');
    await tab.answer.locator('.katex').waitFor();
    const note = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('leaks') };
    await page.getByRole('link', { name: 'New session' }).click();
    await page.locator('.composer input[type=file]').setInputFiles(note);
    await type(tab, 'First');
    await tab.waitForText('note.txt (text/plain, 5 bytes)');
    const message = page.locator('article[data-kind=user]');
    await message.getByRole('button', { name: 'Edit this message in a branch' }).focus();
    await page.keyboard.press('Enter');
    const field = message.getByRole('textbox', { name: 'Edit your message' });
    await field.pressSequentially(' and second');
    await field.press('Enter');
    await message.getByText('2 / 2').waitFor();
    await message.getByRole('button', { name: 'Previous branch' }).click();
    await message.getByText('First', { exact: true }).waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('streams, stops, and shows all words after a kill -9 of the server', async () => {
    const { server } = chat;
    const visitor = await chat.visitor();
    const tab = await visitor.tab();
    server.send('go');
    await type(tab, 'count');
    await tab.waitForCount(100);
    await server.kill();
    const seen = await tab.lastCount();
    await server.restart();
    await tab.page.reload();
    await expect.poll(() => tab.lastCount()).toBeGreaterThanOrEqual(seen);
    const again = await visitor.tab();
    server.send('go');
    await type(again, 'count');
    await again.waitForCount(50);
    await again.stop.click();
    await again.stop.waitFor({ state: 'detached' });
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('inspects a session, and answers in the overview', async () => {
    const visitor = await chat.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    await type(tab, 'tools');
    await tab.waitForText('Done: a duplicate record');
    await page.goto(`${await tab.taskPath()}/inspect`);
    const tree = page.getByRole('tree', { name: 'Spans' });
    await tree.getByRole('treeitem', { name: /^Call run/ }).click();
    const output = page.getByRole('region', { name: 'Input and output' });
    await output.getByText('Result of run').waitFor();
    await tab.dragTo(0.5);
    await page.waitForURL(/\/inspect\?at=\d+$/);
    const asking = await visitor.tab();
    await type(asking, 'ask me about the weather');
    await asking.page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    const overview = (await visitor.tab('/app/overview')).page;
    await overview.getByRole('button', { name: 'Answer ask me about the weather' }).click();
    await overview.getByRole('button', enabledAllow).click();
    await asking.waitForText('Thank you. That is done.');
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('answers the question of a sub-agent in its lane', async () => {
    const { server } = talk;
    const visitor = await talk.visitor();
    const tab = await visitor.tab(`/#token=${server.token}`);
    server.open();
    await type(tab, 'delegate');
    const inner = tab.page.getByRole('group', { name: 'Sub-agent', exact: true }).nth(1);
    await inner.getByRole('button', { name: 'Answer here' }).click();
    await inner.getByRole('button', enabledAllow).click();
    await tab.waitForText('The scout is back.');
    expect(await visitor.allFaults()).toEqual([]);
  });
});
