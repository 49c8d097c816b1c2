import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { documentName, documentTypes } from './testing/hostile-tool.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// A hostile agent attaches documents with scripts. The page offers them as downloads. Here the user
// opens them in a new tab anyway, where they would have the origin of the page.

describeInChromium()('an attached document', () => {
  const harness = useBrowserHarness();
  let path: string | undefined;

  test.each(documentTypes)('attack 19: of type %j is never rendered', async (type) => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab(path ?? '/');
    if (path === undefined) {
      await tab.send('hostile');
      path = await tab.taskPath();
    }
    await tab.waitForText('That was all of it.');
    await tab.unfold(/^hostile/);
    const link = tab.page.getByRole('link', { name: documentName(type), exact: true });
    await link.waitFor();
    const href = (await link.getAttribute('href')) ?? '';
    expect(href).toMatch(/^blob:/);
    // As "open link" does: without `download`, the type of the blob decides.
    const outcome = Promise.race([
      tab.page.waitForEvent('download').then(() => 'saved'),
      tab.page.waitForEvent('framenavigated').then((frame) => `rendered ${frame.url()}`),
    ]);
    await tab.page.evaluate(`location.href = ${JSON.stringify(href)}`);
    expect(await outcome).toBe('saved');
    expect(await tab.page.evaluate('globalThis.ran')).toBeUndefined();
  });
});
