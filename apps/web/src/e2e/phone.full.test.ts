import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

const phone = { viewport: { width: 390, height: 844 } } as const;

/** The DOM members that this test uses. */
interface PageElement {
  readonly scrollTop: number;
  readonly ownerDocument: { elementFromPoint(x: number, y: number): PageElement | null };
  getBoundingClientRect(): Record<'x' | 'y' | 'width' | 'height', number>;
  contains(other: PageElement | null): boolean;
}

/** Returns true if the element is visible and nothing covers it. */
async function isOnTop(what: Locator): Promise<boolean> {
  await what.scrollIntoViewIfNeeded();
  return what.evaluate((one) => {
    const element = one as unknown as PageElement;
    const { x, y, width, height } = element.getBoundingClientRect();
    return element.contains(element.ownerDocument.elementFromPoint(x + width / 2, y + height / 2));
  });
}

describeInChromium()('the page on small screens', () => {
  const harness = useBrowserHarness();

  test.each([
    ['a phone', phone],
    ['a desktop', { viewport: { width: 1280, height: 800 } }],
  ] as const)('fits %s, for any session title', async (_, { viewport }) => {
    const tab = await (await harness.visitor({ viewport })).tab();
    await tab.send('W'.repeat(80));
    await tab.waitForText('See the protocol');
    await tab.page.getByRole('heading', { level: 1, name: /^W+/ }).waitFor();
    const right = (selector: string) =>
      tab.page.evaluate<number>(
        `document.querySelector('${selector}').getBoundingClientRect().right`,
      );
    for (const part of ['.chat', '.chat-header', '.transcript', '.chat-foot', '.composer'])
      expect(await right(part), part).toBeLessThanOrEqual(viewport.width);
    expect(await isOnTop(tab.page.getByRole('button', { name: 'Inspector' }))).toBe(true);
  });

  test('allows an approval while the inspector is open', async () => {
    const tab = await (await harness.visitor(phone)).tab();
    await tab.send('ask me');
    const allow = tab.page.getByRole('button', { name: 'Allow', exact: true });
    await allow.waitFor();
    await tab.page.getByRole('button', { name: 'Inspector' }).click();
    await tab.slider.waitFor();
    expect(await isOnTop(allow)).toBe(true);
    // The button is visible without scrolling.
    const foot = tab.page.locator('.chat-foot');
    expect(await foot.evaluate((one) => (one as unknown as PageElement).scrollTop)).toBe(0);
    expect(await isOnTop(tab.page.getByRole('button', { name: 'Deny' }))).toBe(true);
  });
});
