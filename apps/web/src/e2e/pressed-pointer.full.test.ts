import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

interface ScrollBox {
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

describeInChromium()('a pressed pointer', () => {
  const harness = useBrowserHarness();

  test('keeps the content in place while an answer streams', async () => {
    const tab = await (await harness.visitor({ viewport: { width: 1280, height: 480 } })).tab();
    const { page, transcript } = tab;
    harness.server.send('go');
    await tab.send('count');
    let count = await tab.waitForCount(200);
    const isAtEnd = () =>
      transcript.evaluate(({ scrollHeight, scrollTop, clientHeight }: ScrollBox) => {
        return scrollHeight - scrollTop - clientHeight < 2;
      });
    // A busy page handles the press later than the browser reports it.
    await page.evaluate(
      "addEventListener('pointerdown', () => document.body.classList.add('is-pressed'));" +
        "addEventListener('pointerup', () => document.body.classList.remove('is-pressed'))",
    );
    const scrollTop = () => transcript.evaluate((box: ScrollBox) => box.scrollTop);
    // The moment of the press decides whether a growing row could move the list.
    for (let press = 0; press < 5; press++) {
      await expect.poll(isAtEnd).toBe(true);
      await transcript.hover();
      await page.mouse.down();
      await page.locator('body.is-pressed').waitFor();
      const before = await scrollTop();
      count = await tab.waitForCount(count + 100);
      expect(await scrollTop()).toBe(before);
      await page.mouse.up();
    }
    harness.server.send('enough');
    await tab.waitForText('END');
    await expect.poll(isAtEnd).toBe(true);
  });

  test('22.12: clicks a button although the list scrolls between press and release', async () => {
    const tab = await (await harness.visitor({ viewport: { width: 1280, height: 480 } })).tab();
    const { page, transcript } = tab;
    await tab.send('tell me');
    await page.getByRole('button', { name: 'Answer again' }).waitFor();
    await page.getByRole('button', { name: 'Edit this message in a branch' }).hover();
    await page.mouse.down();
    await transcript.evaluate(scrollUntilRelease);
    await page.mouse.up();
    await page.getByRole('textbox', { name: 'Edit your message' }).waitFor();
  });
});

/**
 * Scrolls by a pixel in each frame until the pointer is released. The list does the same when it
 * measures rows above the visible ones. Resolves after the list has reacted to the first scroll.
 */
function scrollUntilRelease(box: ScrollBox & EventTarget): Promise<void> {
  const { document } = globalThis as unknown as { document: EventTarget };
  let isReleased = false;
  document.addEventListener('pointerup', () => {
    isReleased = true;
  });
  const frame = (step: 1 | -1) => {
    if (isReleased) return;
    box.scrollTop += step;
    requestAnimationFrame(() => frame(step === 1 ? -1 : 1));
  };
  return new Promise((resolve) => {
    box.addEventListener('scroll', () => setTimeout(resolve), { once: true });
    frame(1);
  });
}

declare function requestAnimationFrame(callback: () => void): number;
