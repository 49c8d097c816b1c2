import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { axeFaults } from './testing/axe-faults.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

/** A folder for screenshots of each step. If it is not set, no screenshots are saved. */
const shots = process.env['MILLRACE_SHOTS'];

async function shoot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
      await page.screenshot({ path: join(shots, `${name}-${colorScheme}-${width}.png`) });
    }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 800 });
}

interface FoundRecord {
  readonly offset: number;
  readonly fact?: { readonly type: string; readonly name?: string };
}

describeInChromium()('branches', () => {
  const harness = useBrowserHarness();

  /** Opens a new session in which a run with tools has finished, and reads its records. */
  async function finishedSession() {
    const tab = await (await harness.visitor()).tab();
    const { page } = tab;
    await tab.send('tools');
    await tab.waitForText('Done: a duplicate record');
    await page.getByRole('button', { name: 'Send' }).waitFor();
    const path = await tab.taskPath();
    const { origin } = new URL(page.url());
    const id = path.split('/').at(-1) ?? '';
    const { records } = (await (await fetch(`${origin}/tasks/${id}/records`)).json()) as {
      readonly records: readonly FoundRecord[];
    };
    return { page, path, origin, records };
  }

  test('25.1, 25.2: a branch from a tool result, and its comparison with the original', async () => {
    const { page, path, origin, records } = await finishedSession();
    const end = records.find(({ fact }) => fact?.type === 'tool_execution_finished');
    const tool = end?.fact?.name ?? '';

    await page.goto(`${origin}${path}/inspect?at=${end?.offset}`);
    await page.getByRole('button', { name: 'Branch from here' }).click();
    const dialog = page.getByRole('dialog', { name: `Branch from record ${end?.offset}` });
    await dialog.getByLabel(`Another result of ${tool}`).fill('A result that I made up');
    await shoot(page, 'branch-dialog');
    expect(await axeFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Start the branch' }).click();
    await page.waitForURL((url) => url.pathname !== `${path}/inspect`);
    expect(new URL(page.url()).pathname).not.toBe(path);

    await page.getByRole('link', { name: 'Compare' }).click();
    await page.waitForURL('**/diff');
    const first = page.getByRole('region', { name: 'First difference' });
    await first.getByText('another tool result').waitFor();
    await first.locator('ins', { hasText: 'A result that I made up' }).waitFor();
    await page.getByRole('table').last().getByText('differs').first().waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await shoot(page, 'diff');
    // The record of the original opens in the inspector.
    await first.getByRole('article', { name: 'A' }).getByRole('link').click();
    await page.waitForURL(`**${path}/inspect?at=*`);
  });

  test('25.2: two branches stream side by side, get names, and one of them is kept', async () => {
    const { page, path, origin, records } = await finishedSession();
    const end = records.findLast(({ fact }) => fact?.type === 'run_finished');
    await page.goto(`${origin}${path}/inspect?at=${end?.offset}`);
    await page.getByRole('button', { name: 'Branch from here' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add a message' }).click();
    const fields = dialog.getByLabel('Another message');
    await fields.nth(0).fill('What is a lease?');
    await fields.nth(1).fill('What is a fold?');
    await dialog.getByRole('button', { name: 'Start 2 branches' }).click();
    await page.waitForURL('**/branches?with=*');
    const columns = page.locator('.branch-column');
    await expect.poll(() => columns.count()).toBe(2);
    await columns.nth(0).getByText('What is a lease?').last().waitFor();
    await columns.nth(1).getByText('What is a fold?').last().waitFor();
    const second = columns.nth(1);
    const name = second.getByRole('textbox', { name: 'Name of the branch' });
    await expect.poll(() => name.inputValue()).toBe('What is a fold?');
    await name.fill('The better one');
    await name.press('Enter');
    await second.getByRole('button', { name: 'Keep this branch' }).click();
    await second.getByRole('button', { name: 'Main branch' }).waitFor();
    const entry = page.locator('.task-list .task-link', { hasText: 'The better one' }).first();
    await entry.waitFor();
    await shoot(page, 'branches');
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await axeFaults(page)).toEqual([]);
    await second.getByRole('link', { name: 'Compare' }).click();
    const first = page.getByRole('region', { name: 'First difference' });
    await first.locator('ins', { hasText: 'fold' }).waitFor();
  });
});
