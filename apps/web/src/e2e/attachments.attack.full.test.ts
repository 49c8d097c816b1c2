import { afterAll, expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { documentName, documentTypes } from './testing/hostile-tool.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A hostile agent attaches documents with scripts. The page offers them only as downloads. In this
// test, the user opens them in a new tab, where they would have the origin of the page.

describeInChromium()('an attached document', () => {
  const harness = useBrowserHarness();
  let close: (() => Promise<void>) | undefined;
  afterAll(() => close?.());
  let tab: ChatTab | undefined;
  let path = '';

  /**
   * Returns a tab with the documents. A download does not leave the page, so all tests can use the
   * tab.
   */
  async function openTab(): Promise<ChatTab> {
    if (tab !== undefined && new URL(tab.page.url()).pathname === path) return tab;
    await close?.();
    const visitor = await harness.visitor({}, (closing) => {
      close = closing;
    });
    tab = await visitor.tab(path || '/');
    if (path === '') {
      await tab.send('hostile');
      path = await tab.taskPath();
    }
    await tab.waitForText('That was all of it.');
    await tab.unfold(/^hostile/);
    return tab;
  }

  test.each(documentTypes)('attack 19: of type %j is never rendered', async (type) => {
    const { page } = await openTab();
    const link = page.getByRole('link', { name: documentName(type), exact: true });
    await link.waitFor();
    const href = (await link.getAttribute('href')) ?? '';
    expect(href).toMatch(/^blob:/);
    // Simulates "open link": without `download`, the type of the blob decides.
    const outcome = Promise.race([
      page.waitForEvent('download').then(() => 'saved'),
      page.waitForEvent('framenavigated').then((frame) => `rendered ${frame.url()}`),
    ]);
    await page.evaluate(`location.href = ${JSON.stringify(href)}`);
    expect(await outcome).toBe('saved');
    expect(await page.evaluate('globalThis.ran')).toBeUndefined();
  });
});
