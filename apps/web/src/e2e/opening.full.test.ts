import { expect, test } from 'vitest';
import { useBrowserHarness, useBrowserHarnessFor } from './testing/browser-harness.ts';
import { LongSessionServer } from './testing/long-session-server.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// Measures how fast a session opens by counting requests and renders, not by time.

/** Records each change of the number of items, starting with the first item. */
const counter = `
globalThis.lists = [];
new MutationObserver(() => {
  const count = document.querySelectorAll('.transcript article').length;
  if (count > 0 && globalThis.lists.at(-1) !== count) globalThis.lists.push(count);
}).observe(document, { childList: true, subtree: true });
`;

describeInChromium()('opening a session', () => {
  const harness = useBrowserHarness();

  test('requests its stream once and before everything else', async () => {
    const visitor = await harness.visitor();
    const first = await visitor.tab();
    harness.server.send('enough');
    await first.send('count a little');
    await first.waitForText('END');
    const path = await first.taskPath();
    const second = await visitor.context.newPage();
    const requests: string[] = [];
    second.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await second.addInitScript(counter);
    await second.goto(path);
    await second.getByText('END', { exact: true }).waitFor();
    const serverRequests = requests.filter((to) => !to.startsWith('/assets/') && to !== path);
    expect(serverRequests[0]).toBe(`${path.replace('/app', '')}/stream`);
    expect(serverRequests.filter((to) => to.endsWith('/stream'))).toHaveLength(1);
    // All items appeared together, not one after the other.
    expect(await second.evaluate('globalThis.lists')).toEqual([2]);
    expect(await visitor.allFaults()).toEqual([]);
  });
});

/** Records the layout shifts of the page. */
const shiftRecorder = `
globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) globalThis.shifts.push(value);
}).observe({ type: 'layout-shift', buffered: true });
`;

describeInChromium()('opening a long session', () => {
  const harness = useBrowserHarnessFor(() => LongSessionServer.start(2000));

  test('22: shows the last screen first, and adds the earlier items without a move', async () => {
    const visitor = await harness.visitor({ viewport: { width: 1280, height: 480 } });
    const page = await visitor.context.newPage();
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    await page.addInitScript(shiftRecorder);
    // The second stream reads the earlier records.
    await page.route(/\/stream\?view=records$/, async (route) => {
      await isReleased;
      await route.continue();
    });
    await page.goto(`/app/tasks/${LongSessionServer.session}`);
    const last = page.locator('.transcript article').last();
    await last.getByText('KÄSE', { exact: false }).first().waitFor();
    await page.evaluate('document.fonts.ready');
    const height = () =>
      page
        .locator('.transcript')
        .evaluate(({ scrollHeight }: { scrollHeight: number }) => scrollHeight);
    const isAtEnd = () =>
      page.evaluate<boolean>(
        "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2)(document.querySelector('.transcript'))",
      );
    await expect.poll(isAtEnd).toBe(true);
    const [recentHeight, place] = [await height(), await last.boundingBox()];
    await page.evaluate('globalThis.shifts.length = 0');
    release();
    await expect.poll(height).toBeGreaterThan(2 * recentHeight);
    await expect.poll(isAtEnd).toBe(true);
    // Scroll positions are whole pixels, and heights of rows are not.
    expect(Math.abs(((await last.boundingBox())?.y ?? 0) - (place?.y ?? 0))).toBeLessThan(1);
    expect(await page.evaluate('globalThis.shifts')).toEqual([]);
    await page.getByRole('region', { name: 'Conversation' }).press('Home');
    // The first message of the session has no message before it.
    await expect
      .poll(() =>
        page.locator('.transcript').evaluate((box: { scrollTop: number }) => box.scrollTop),
      )
      .toBe(0);
    await page.locator('.transcript article').first().getByText('What is the weather?').waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});
