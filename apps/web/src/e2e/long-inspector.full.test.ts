import type { Response } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { LongSessionServer } from './testing/long-session-server.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

/**
 * Maximum number of records that the page may read to show one moment. It does not depend on the
 * length of the session.
 */
const maxRecords = 5000;

describeInChromium()('the inspector of a session with 100,000 records', () => {
  const harness = useBrowserHarnessFor(() => LongSessionServer.start(100_000));

  test('22.3: opens at record 90,000 and reads a limited number of records', async () => {
    const { records } = harness.server;
    expect(records).toBeGreaterThanOrEqual(100_000);
    const visitor = await harness.visitor();
    const read: number[] = [];
    const paths = new Set<string>();
    const pending: Promise<void>[] = [];
    visitor.context.on('response', (response: Response) => {
      const { pathname } = new URL(response.url());
      paths.add(pathname);
      if (!pathname.endsWith('/records')) return;
      const count = async () => {
        const page: { readonly records: readonly unknown[] } = await response.json();
        read.push(page.records.length);
      };
      pending.push(count());
    });
    const total = async () => {
      await Promise.all(pending);
      return read.reduce((sum, count) => sum + count, 0);
    };
    const tab = await visitor.tab(`/app/tasks/${LongSessionServer.session}/inspect?at=90000`);
    const { page } = tab;
    const value = `record 90,000 of ${records.toLocaleString('en')}`;
    await page.locator(`[role=slider][aria-valuetext="${value}"]`).waitFor();
    const tree = page.getByRole('tree', { name: 'Spans' });
    const spans = tree.getByRole('treeitem');
    await spans.first().waitFor();
    await expect.poll(total).toBeGreaterThan(0);
    const atFirst = await total();
    expect(atFirst).toBeLessThanOrEqual(maxRecords);
    // The stream would send the transcript of the whole session, so the page must not open it.
    expect([...paths].filter((path) => path.endsWith('/stream'))).toEqual([]);

    // A different moment reads a different window. The test also uses the start of the log.
    await tab.slider.focus();
    await page.keyboard.press('Home');
    await tree.getByRole('treeitem', { name: /^Turn 1 / }).waitFor();
    expect((await total()) - atFirst).toBeLessThanOrEqual(maxRecords);
    await page.keyboard.press('ArrowRight');
    await page.locator('[role=slider][aria-valuetext^="record 2 of"]').waitFor();

    // Two moments of the window can be compared.
    await page.getByRole('tab', { name: 'Compare' }).click();
    await page.getByRole('button', { name: 'Set A to record 2' }).click();
    await tab.slider.focus();
    for (let presses = 0; presses < 20; presses++) await page.keyboard.press('Shift+ArrowRight');
    await page.getByRole('button', { name: /^Set B to record/ }).click();
    await page
      .getByRole('status')
      .getByText(/items? differs?/)
      .waitFor();
    expect(await visitor.allFaults()).toEqual([]);
  });
});
