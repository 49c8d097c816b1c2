import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('many tool calls of a turn', () => {
  const harness = useBrowserHarness();

  test('are one row that opens by keyboard, and a failure and the running call are visible', async () => {
    harness.server.send('hold');
    const tab = await (await harness.visitor()).tab();
    await tab.send('many');
    const group = tab.page.locator('.tool-group');
    const row = group.getByRole('button', { name: 'Read 4 files' });
    const call = (name: RegExp) => tab.page.getByRole('group', { name });
    await row.waitFor();
    await call(/^Tool run: running/).waitFor();
    await call(/^Tool patch: failed/).waitFor();
    expect(await call(/^Tool read/).count()).toBe(0);
    harness.server.send('go');
    await tab.waitForText('one edit failed');
    const all = group.getByRole('button', { name: 'Read 4 files, ran 1 command' });
    await all.waitFor();
    expect(await call(/^Tool run/).count()).toBe(0);
    await call(/^Tool patch: failed/).waitFor();
    expect(await axeFaults(tab.page)).toEqual([]);
    await all.focus();
    await tab.page.keyboard.press('Enter');
    await call(/^Tool run: done/).waitFor();
    expect(await call(/^Tool read: done/).count()).toBe(4);
    expect(await all.getAttribute('aria-expanded')).toBe('true');
    await tab.page.keyboard.press('Enter');
    await call(/^Tool run/).waitFor({ state: 'detached' });
  });
});
