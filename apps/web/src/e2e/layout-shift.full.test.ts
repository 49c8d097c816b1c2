import { createClient, type TaskSnapshot } from '@millrace/client';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

// Chromium reports each element that moves although the user did not scroll. The page must have no
// such moves.

/**
 * Records all layout shifts, also those just after an input, because a slow server would answer later.
 */
const recorder = `
globalThis.shifts = [];
const nameOf = (node) => node?.nodeName + '.' + (node?.className ?? node?.parentElement?.className ?? '');
const boxOf = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
new PerformanceObserver((list) => {
  for (const { value, sources } of list.getEntries())
    globalThis.shifts.push(value.toFixed(5) + ' ' + sources.map(({ node, previousRect, currentRect }) =>
      nameOf(node) + ' from ' + boxOf(previousRect) + ' to ' + boxOf(currentRect)).join(', '));
}).observe({ type: 'layout-shift', buffered: true });
`;

/** Returns the layout shifts since the last call. Chromium reports a shift in the next frames. */
async function takeShifts(page: Page): Promise<readonly string[]> {
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
  );
  return page.evaluate<string[]>('globalThis.shifts.splice(0)');
}

const sizes = [
  ['a desktop', { width: 1280, height: 800 }],
  ['a phone', { width: 390, height: 844 }],
] as const;

const words = 'Some words that need several lines. '.repeat(8);
const answers = (middle: string) =>
  ['One', 'Two', 'Three'].map(
    (title) => `say\n## ${title}\n\n${words}\n\n${middle}\n\n${words}\n\nThe end of the answer`,
  );

/** The messages of sessions with rows that need code that the page loads later. */
const longSessions: Readonly<Record<string, readonly string[]>> = {
  formulas: answers('$$\\frac{a}{b}$$'),
  code: answers('<b>Some</b> HTML\n\n```js\nlet a = 1;\n```'),
  pictures: answers('```svg\n<svg xmlns="http://www.w3.org/2000/svg" height="99"/>\n```'),
};

function answerCount({ items }: TaskSnapshot): number {
  return items.filter(({ kind }) => kind === 'assistant').length;
}

describeInChromium()('layout shift', () => {
  const harness = useBrowserHarness();

  test.each(sizes)('is zero on %s: open, first message, stream, approval', async (_, viewport) => {
    harness.server.send('go');
    const visitor = await harness.visitor({ viewport });
    await visitor.context.addInitScript(recorder);
    const tab = await visitor.tab();
    const { page } = tab;
    const shifts: Record<string, readonly string[]> = {};
    await tab.message.waitFor();
    await page.evaluate('document.fonts.ready');
    shifts['open'] = await takeShifts(page);
    await tab.send('count');
    await tab.waitForCount(1);
    shifts['first message'] = await takeShifts(page);
    await tab.waitForCount(400);
    shifts['stream'] = await takeShifts(page);
    harness.server.send('enough');
    await tab.waitForText('END');
    await tab.stop.waitFor({ state: 'detached' });
    shifts['end of the stream'] = await takeShifts(page);
    await tab.send('ask me');
    await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    shifts['approval'] = await takeShifts(page);
    await page.goto(await tab.taskPath());
    await page.getByRole('heading', { name: 'Allow write?' }).waitFor();
    shifts['open a session'] = await takeShifts(page);
    expect(shifts).toEqual(Object.fromEntries(Object.keys(shifts).map((when) => [when, []])));
  });

  test.each(sizes)('22: is zero on %s: open sessions with long rows', async (_, viewport) => {
    const client = createClient({ url: harness.server.url });
    onTestFinished(() => client.close());
    const visitor = await harness.visitor({ viewport });
    await visitor.context.addInitScript(recorder);
    const shifts: Record<string, readonly string[]> = {};
    for (const [name, messages] of Object.entries(longSessions)) {
      const task = await client.createTask({ agent: 'builder' });
      for (const [at, message] of messages.entries()) {
        await task.send(message);
        await task.until((snapshot) => !snapshot.isRunning && answerCount(snapshot) > at);
      }
      const tab = await visitor.tab(`/app/tasks/${task.id}`);
      await tab.waitForText('of the answer');
      await tab.page.evaluate('document.fonts.ready');
      shifts[`open ${name}`] = await takeShifts(tab.page);
      await tab.send('tools');
      await tab.waitForText('Done: a duplicate record');
      await tab.stop.waitFor({ state: 'detached' });
      shifts[`next message in ${name}`] = await takeShifts(tab.page);
      await tab.page.close();
    }
    expect(shifts).toEqual(Object.fromEntries(Object.keys(shifts).map((when) => [when, []])));
  });

  test('is zero in the row of a queued message when its words change', async () => {
    harness.server.send('go');
    const tab = await (await harness.visitor()).tab();
    await tab.send('count');
    await tab.waitForCount(1);
    await tab.send('Later');
    const row = tab.page.getByRole('list', { name: 'Queued messages' }).getByRole('listitem');
    const boxes = async () => [
      await row.locator('.queue-text').boundingBox(),
      (await row.locator('.queue-when').boundingBox())?.x,
    ];
    await row.getByText('queued').waitFor();
    const before = await boxes();
    await tab.stop.click();
    await row.getByText('stopped: sent with your next message').waitFor();
    expect(await boxes()).toEqual(before);
  });
});
