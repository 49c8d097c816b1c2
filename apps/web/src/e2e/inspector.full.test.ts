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
  for (const [colorScheme, width] of [
    ...(['light', 'dark'] as const).map((scheme) => [scheme, 1280] as const),
    ...(['light', 'dark'] as const).map((scheme) => [scheme, 390] as const),
  ]) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
    await page.screenshot({ path: join(shots, `${name}-${colorScheme}-${width}.png`) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 800 });
}

describeInChromium()('the inspector in full width', () => {
  const harness = useBrowserHarness();

  test('22.3: a tree by keyboard, a prompt and its change, zoom, scrub and compare', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    const { keyboard } = page;
    await tab.send('say\nThe first answer.');
    await tab.waitForText('The first answer.');
    await tab.send('tools');
    await tab.waitForText('Done: a duplicate record');
    await page.getByRole('button', { name: 'Send' }).waitFor();

    // The panel next to the chat has a link to the full page. Selecting a span does not change the
    // chat.
    await page.getByRole('button', { name: 'Inspector' }).click();
    const tree = page.getByRole('tree', { name: 'Spans' });
    await tree.getByRole('treeitem', { name: /^Turn 1/ }).click();
    await page.getByRole('article', { name: 'Turn Turn 1' }).waitFor();
    await tab.waitForText('Done: a duplicate record');
    expect(await page.getByText('You are viewing an earlier moment.').count()).toBe(0);
    expect(new URL(page.url()).search).toBe('');
    await shoot(page, 'panel');
    await page.getByRole('link', { name: 'Full page' }).click();
    await page.waitForURL('**/inspect');

    // The Tab key treats the tree as one element.
    await tree.focus();
    const selected = (name: RegExp) =>
      tree.getByRole('treeitem', { selected: true, name }).waitFor();
    await keyboard.press('Home');
    await selected(/^Run 1/);
    for (const key of ['ArrowDown', 'ArrowDown']) await keyboard.press(key);
    await selected(/^Attempt demo-1.*first token after/);
    await page.getByText('There is no earlier request to compare with.').waitFor();
    await keyboard.press('Home');
    await keyboard.press('ArrowLeft');
    await tree.getByRole('treeitem', { name: /^Turn 1/ }).waitFor({ state: 'detached' });
    await keyboard.press('ArrowRight');
    await tree.getByRole('treeitem', { name: /^Turn 1/ }).waitFor();
    await keyboard.type('turn 2');
    await selected(/^Turn 2/);
    await keyboard.press('ArrowDown');

    // The prompt is shown as messages. New messages since the previous request are marked.
    const prompt = page.getByRole('region', { name: 'Prompt' });
    await prompt.getByText(/^\d+ messages? as in the last request, \d+ new/).waitFor();
    await prompt.getByText('tools', { exact: true }).waitFor();
    await prompt.getByRole('button', { name: /^Show \d+ unchanged/ }).click();
    await prompt.getByText('The first answer.', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Answer' }).waitFor();
    await page.getByRole('region', { name: 'Tokens' }).getByText('1,200').waitFor();
    await shoot(page, 'prompt');

    // A call shows its input and its output. One click shows its records.
    await tree.getByRole('treeitem', { name: /^Call run/ }).click();
    const output = page.getByRole('region', { name: 'Input and output' });
    await output.getByText('Result of run').waitFor();
    await shoot(page, 'call');

    // Enter zooms to the span, and 0 shows the whole session again.
    const whole = page.getByRole('button', { name: 'The whole session (0)' });
    expect(await whole.isDisabled()).toBe(true);
    await tree.focus();
    await keyboard.press('Enter');
    await expect.poll(() => whole.isDisabled()).toBe(false);
    await shoot(page, 'zoomed');
    await keyboard.press('0');
    await expect.poll(() => whole.isDisabled()).toBe(true);

    // The scrubber selects a moment, and the URL contains it. The user can compare two moments.
    await page.getByRole('tab', { name: 'Compare' }).click();
    await tab.dragTo(0.2);
    await page.getByRole('button', { name: /^Set A to record/ }).click();
    await tab.dragTo(0.9);
    await page.getByRole('button', { name: /^Set B to record/ }).click();
    await page
      .getByRole('status')
      .getByText(/\d+ items? differs?, \d+ are the same\./)
      .waitFor();
    await page.waitForURL(/\/inspect\?at=\d+$/);
    await shoot(page, 'compare');
    const speeds = page.getByRole('combobox', { name: 'Speed' });
    expect(await speeds.locator('option').allInnerTexts()).toEqual([
      ...['0.1×', '0.5×', '1×', '4×', '20×', '100×', 'max'],
    ]);
    expect(await axeFaults(page)).toEqual([]);

    // One click shows the raw records. The chat shows a span only when the user requests it.
    await tree.getByRole('treeitem', { name: /^Turn 1/ }).click();
    await page.getByRole('button', { name: 'Raw records' }).click();
    await page.getByRole('option', { selected: true }).getByText('turn_started').waitFor();
    await shoot(page, 'records');
    await page.getByRole('tab', { name: 'Span' }).click();
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show in chat' }).click();
    await page.getByText('You are viewing an earlier moment.').waitFor();
    await tab.waitForText('The first answer.');
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('22.3: the user resizes the tree and the details, and the browser remembers it', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    const { page } = tab;
    await tab.send('say\nHello.');
    await tab.waitForText('Hello.');
    await page.goto(`${await tab.taskPath()}/inspect`);
    const splitter = page.getByRole('separator', { name: 'Width of the tree and the time line' });
    await splitter.focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    expect(await splitter.getAttribute('aria-valuenow')).toBe('58');
    await page.reload();
    expect(await splitter.getAttribute('aria-valuenow')).toBe('58');
    expect(await visitor.allFaults()).toEqual([]);
  });
});
