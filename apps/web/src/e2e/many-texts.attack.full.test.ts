import { expect, test } from 'vitest';
import { patientMs } from '../../../../packages/core/src/testing/runs.ts';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

/** What the page shows in one frame. */
interface Frame {
  /** The number of list items. */
  readonly items: number;
  /** The numbers of the texts that have their format. */
  readonly formatted: readonly number[];
}

const textCount = 12;
const itemsPerText = 1000;

/** Records what the page shows in each frame with new list items. */
const recordFrames = `
  globalThis.frames = [];
  const record = () => {
    const items = document.querySelectorAll('li').length;
    const texts = [...document.querySelectorAll('article[data-kind=assistant] .markdown')];
    const formatted = texts.flatMap((text, at) => (text.querySelector('li') ? [at] : []));
    if (items > (globalThis.frames.at(-1)?.items ?? 0)) globalThis.frames.push({ items, formatted });
    requestAnimationFrame(record);
  };
  requestAnimationFrame(record);
`;

describeInChromium()('an answer with several long texts', () => {
  const harness = useBrowserHarness();

  test('18.456: attack: a model sends several long texts, each within the limit, to freeze the page', async () => {
    const visitor = await harness.visitor();
    await visitor.context.addInitScript(recordFrames);
    const text = `texts ${textCount}\n${'- a\n'.repeat(itemsPerText)}`;
    const tab = await visitor.tab(`/app/tasks/${await harness.server.answer(text)}`);
    const answers = tab.page.locator('article[data-kind=assistant] .markdown li');
    const total = textCount * itemsPerText;
    await expect.poll(() => answers.count(), { timeout: patientMs(60_000) }).toBe(total);

    const frames = (await tab.page.evaluate('globalThis.frames')) as readonly Frame[];
    const added = frames.map(({ items }, at) => items - (frames[at - 1]?.items ?? 0));
    // The texts that appear together share the limit of one text. Later, each text has its own frame.
    expect(Math.max(...added)).toBeLessThanOrEqual(3 * itemsPerText);
    expect(added.length).toBeGreaterThanOrEqual(textCount / 2);
    expect(Math.max(...added.slice(1))).toBeLessThanOrEqual(2 * itemsPerText);
    // The page opens at the end. So the last text gets its format before those in the middle.
    const showsLast = frames.findIndex(({ formatted }) => formatted.includes(textCount - 1));
    const showsMiddle = frames.findIndex(({ formatted }) => formatted.includes(textCount / 2));
    expect(showsLast).toBeLessThan(showsMiddle);
    expect(await visitor.allFaults()).toEqual([]);
  });
});
