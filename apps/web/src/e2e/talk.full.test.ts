import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { type ChatTab, enabledAllow } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';
import { TalkServer } from './testing/talk-server.ts';

describeInChromium()('a conversation with sub-agents', () => {
  const harness = useBrowserHarnessFor(() => TalkServer.start());
  const open = async (): Promise<ChatTab> => {
    const visitor = await harness.visitor();
    return visitor.tab(`/#token=${harness.server.token}`);
  };
  const lanesOf = (tab: ChatTab) => tab.page.getByRole('group', { name: 'Sub-agent', exact: true });

  test('streams them in nested lanes, where their questions are answered', async () => {
    const { server } = harness;
    server.hold();
    const tab = await open();
    await tab.send('delegate');
    const lanes = lanesOf(tab);
    await lanes.first().getByText('I look outside.').waitFor();
    server.open();
    const inner = lanes.nth(1);
    await inner.getByText('I write it down.').waitFor();
    const answer = inner.getByRole('button', { name: 'Answer here' });
    await answer.waitFor();
    await tab.page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await answer.click();
    // The question has one card, which is now in the lane.
    const card = inner.getByRole('heading', { name: 'Allow write?' });
    await card.waitFor();
    expect(await tab.page.getByRole('heading', { name: 'Allow write?' }).count()).toBe(1);
    expect(await axeFaults(tab.page)).toEqual([]);
    await inner.getByRole('button', enabledAllow).click();
    await tab.waitForText('The scout is back.');
    // Finished sub-agents are one quiet row, which loads the session on demand.
    const call = tab.page.getByRole('button', { name: /^scout/ });
    expect(await call.getAttribute('aria-expanded')).toBe('false');
    expect(await lanes.count()).toBe(0);
    await call.click();
    await lanes
      .first()
      .getByRole('button', { name: /^Sub-agent/ })
      .click();
    await lanes.first().getByText('It rains outside.').first().waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await tab.page.setViewportSize({ width: 360, height: 740 });
    const width = await tab.page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBe(360);
  });

  test('22.10: a message names its model, and a command opens the inspector', async () => {
    const tab = await open();
    const { page } = tab;
    const modelOf = async (text: string) => {
      const sending = page.waitForRequest(/\/commands$/);
      await tab.send(text);
      return (JSON.parse((await sending).postData() ?? '{}') as { readonly model?: string }).model;
    };
    const choice = page.getByRole('combobox', { name: 'Model' });
    await choice.selectOption('talk-2');
    expect(await modelOf('hello')).toBe('talk-2');
    await tab.waitForText('I have nothing to say.');
    // The session keeps the model of its last message.
    expect(await choice.inputValue()).toBe('talk-2');
    await choice.selectOption('talk-1');
    expect(await modelOf('hello')).toBe('talk-1');
    await tab.message.fill('/ins');
    await page.getByRole('option', { name: '/inspect' }).waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await tab.message.press('Enter');
    await page.waitForURL('**/inspect**');
  });

  test('asks with a form that the keyboard answers', async () => {
    const tab = await open();
    await tab.send('question');
    const card = tab.page.getByRole('region', { name: 'ask_user asks' });
    await card.getByText('It stores the orders.').waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    const bar = tab.page.locator('.composer-bar');
    const modelWidth = async () => (await bar.getByRole('combobox').boundingBox())?.width;
    const wide = await modelWidth();
    await tab.page.setViewportSize({ width: 360, height: 740 });
    const width = await tab.page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBe(360);
    // The menu still shows the name of the model, and the buttons of the run are on one line.
    expect(await modelWidth()).toBe(wide);
    const lines = ['Stop', 'Steer', 'Queue'].map(async (name) => {
      return (await bar.getByRole('button', { name, exact: true }).boundingBox())?.y;
    });
    expect(new Set(await Promise.all(lines)).size).toBe(1);
    await card.getByRole('radio', { name: /SQLite/ }).focus();
    await tab.page.keyboard.press('ArrowDown');
    // The page accepts no answer while the card has just moved.
    await card.locator('button[type=submit]:enabled').waitFor();
    await tab.page.keyboard.press('Enter');
    await tab.waitForText('Thank you for the answer.');
    await tab.unfold(/^ask_user/);
    await tab.page
      .getByRole('group', { name: 'Tool ask_user: done' })
      .getByText('Postgres')
      .last()
      .waitFor();
  });

  test('finds a session by the text of its messages, with the keyboard', async () => {
    const tab = await open();
    await tab.send('weather in Bath');
    await tab.waitForText('Take purple umbrellas along.');
    const path = await tab.taskPath();
    await tab.page.getByRole('link', { name: 'New session' }).click();
    await tab.send('and another session');
    await tab.waitForText('I have nothing to say.');
    await tab.page.keyboard.press('Control+k');
    await tab.page.keyboard.type('PURPLE umb');
    const hits = tab.page.getByRole('region', { name: 'In messages' });
    await hits.locator('mark', { hasText: 'purple umb' }).waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await tab.page.keyboard.press('Control+k');
    // No name of a session has the text, so the first link is the message.
    await tab.page.keyboard.press('ArrowDown');
    expect(await tab.page.evaluate<string>('document.activeElement.className')).toContain('hit');
    await tab.page.keyboard.press('Enter');
    await tab.page.waitForURL(`**${path}`);
  });

  test('stops all of them with one button', async () => {
    const { server } = harness;
    server.hold();
    const tab = await open();
    await tab.send('delegate');
    await lanesOf(tab).first().getByText('I look outside.').waitFor();
    await tab.stop.click();
    await tab.page.getByRole('group', { name: /^Tool scout: stopped/ }).waitFor();
    await tab.stop.waitFor({ state: 'detached' });
    server.open();
  });
});
