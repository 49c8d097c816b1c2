import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// The user decides by reading the card. The card must show everything, and accidental input must
// not answer it.

describeInChromium()('an approval card', () => {
  const harness = useBrowserHarness();

  async function openApproval(...contents: readonly string[]): Promise<ChatTab> {
    const tab = await (await harness.visitor()).tab();
    // A message with several lines comes from the clipboard or from a form.
    await tab.send(['write', ...contents.map((content) => JSON.stringify(content))].join('\n'));
    await card(tab).waitFor();
    return tab;
  }

  const card = ({ page }: ChatTab) => page.getByRole('region', { name: 'Allow write?' });
  const allow = (tab: ChatTab) => card(tab).getByRole('button', { name: 'Allow', exact: true });
  const waitUntilArmed = (tab: ChatTab) => allow(tab).click({ trial: true });
  const allowed = ({ page }: ChatTab) =>
    page.getByRole('group', { name: 'Tool write: done' }).count();

  test('ignores the second click on the previous card', async () => {
    const tab = await openApproval('one', 'two', 'three');
    await waitUntilArmed(tab);
    const box = await allow(tab).boundingBox();
    if (box === null) throw new Error('The Allow button is not visible');
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const { clock, mouse } = tab.page;
    // The test moves the page's clock, so the next clicks are early on a busy machine too.
    // The clock runs until `pauseAt` arrives, so the moment of the pause is far away.
    await clock.install();
    await clock.pauseAt(await tab.page.evaluate('Date.now() + 3_600_000'));
    await mouse.click(x, y);
    const next = card(tab).getByText('1 more after this');
    await expect.poll(() => clock.runFor(16).then(() => next.count())).toBe(1);
    for (let frames = 0; frames < 10; frames++) {
      await clock.runFor(16);
      await mouse.click(x, y);
    }
    await clock.resume();
    await waitUntilArmed(tab);
    await next.waitFor();
    await card(tab).getByText('two').waitFor();
  });

  test('accepts one answer of a held key', async () => {
    const tab = await openApproval('one', 'two');
    await waitUntilArmed(tab);
    await tab.page.keyboard.down('Alt');
    // All presses after the first one are repeats, because the key is held.
    await tab.page.keyboard.down('y');
    await card(tab).getByText('two').waitFor();
    for (let repeats = 0; repeats < 20; repeats++) await tab.page.keyboard.down('y');
    await tab.page.keyboard.up('y');
    await tab.page.keyboard.up('Alt');
    await waitUntilArmed(tab);
    await card(tab).getByText('two').waitFor();
  });

  test('ignores Alt+Y while a form is open, and Escape closes the form', async () => {
    const tab = await openApproval('one');
    await waitUntilArmed(tab);
    await card(tab).getByRole('button', { name: 'Deny' }).click();
    const reason = card(tab).getByRole('textbox', { name: 'Reason' });
    await reason.press('Alt+y');
    await reason.press('Escape');
    await reason.waitFor({ state: 'detached' });
    await card(tab).getByRole('button', { name: 'Change the input' }).click();
    await card(tab).getByRole('textbox').press('Alt+y');
    await card(tab).getByRole('button', { name: 'Back' }).click();
    await waitUntilArmed(tab);
    expect(await allowed(tab)).toBe(0);
  });

  test('moves the focus to the next card, and from the last one to the message field', async () => {
    const tab = await openApproval('one', 'two');
    await waitUntilArmed(tab);
    await allow(tab).focus();
    await tab.page.keyboard.press('Enter');
    await card(tab).getByText('two').waitFor();
    await expect.poll(() => focused(tab)).toBe('BUTTON Deny');
    await waitUntilArmed(tab);
    // Tab would leave the page at its end, and a window without the focus must wait again.
    await tab.tabTo('Allow', 'Shift+Tab');
    await tab.page.keyboard.press('Enter');
    await tab.waitForText('That was all of it.');
    await expect.poll(() => focused(tab)).toBe('TEXTAREA Message');
  });

  test('a call that is stopped while it runs has not failed', async () => {
    harness.server.send('hold');
    const tab = await (await harness.visitor()).tab();
    await tab.send('tools');
    await tab.page.getByRole('group', { name: 'Tool run: running' }).waitFor();
    await tab.page.getByText('test 1 of 12').first().waitFor();
    await tab.message.press('Escape');
    await tab.page.getByRole('group', { name: 'Tool run: stopped' }).waitFor();
  });

  test('Escape in the search field does not stop the run', async () => {
    harness.server.send('go');
    const tab = await (await harness.visitor()).tab();
    await tab.send('count on');
    const before = await tab.waitForCount(5);
    await tab.page.getByRole('button', { name: 'Inspector' }).click();
    await tab.page.getByRole('tab', { name: 'Records' }).click();
    const search = tab.page.getByRole('searchbox', { name: 'Find records' });
    await search.fill('w1');
    await search.press('Escape');
    expect(await search.inputValue()).toBe('');
    await search.press('Escape');
    await expect.poll(() => focused(tab)).toMatch(/^BODY/);
    await tab.waitForCount(before + 50);
    harness.server.send('enough');
    await tab.waitForText('END');
  });
});

function focused({ page }: ChatTab): Promise<string> {
  return page.evaluate<string>(
    `(() => {
      const { tagName, ariaLabel, textContent } = document.activeElement;
      const name = ariaLabel ?? (tagName === 'BUTTON' ? textContent : '');
      return [tagName, name].filter(Boolean).join(' ');
    })()`,
  );
}
