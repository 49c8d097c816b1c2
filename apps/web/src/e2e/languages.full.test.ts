import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import type { ChatTab } from './testing/chat-tab.ts';
import { describeInChromium } from './testing/needs-chromium.ts';
import { unmarkedTexts, usePseudoLanguage } from './testing/pseudo-language.ts';

/** Opens one screen after the other, and calls `check` on each. */
async function eachScreen(tab: ChatTab, check: (name: string) => Promise<void>): Promise<void> {
  const { page } = tab;
  await tab.message.waitFor();
  await check('new');
  await tab.send('tools');
  await tab.waitForText('Done: a duplicate record');
  await check('tools');
  await tab.send('ask me');
  await page.locator('.approval-card, .approval').first().waitFor();
  await check('a question');
  await page.getByRole('button', { name: 'Inspector' }).click();
  await tab.waitForScrubber();
  await page.getByRole('treeitem').first().click();
  await check('the spans');
  await page.getByRole('tab', { name: 'Records' }).click();
  await page.getByRole('option').first().waitFor();
  await check('the records');
  await page.getByRole('tab', { name: 'Compare' }).click();
  await check('the comparison');
  await page.goto('/app/overview');
  await page.locator('#overview-usage').waitFor();
  await check('the overview');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await check('help');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Names and protocol words that are data, not texts of the page. */
const known = [
  /^(?:Millrace|English|Deutsch|Español|中文)$/,
  /^Alt\+[YN]$/,
  // Dates of charts, such as `Nov 16 2:00 PM`.
  /^[\w ]*\d:\d\d [AP]M$/,
  // Units and moments, such as `1.2 s` and `≈ 3 min 5 s`.
  /^[≈~+\-−\d.,:/ ·×%]*(?:ms|s|min|h|KB|MB|B|tokens|tokens\/s|USD| )*[\d. ]*(?:ms|s|min)?$/,
  /^(?:builder|json|tools|ask me|run|turn|Turn \d|patch|write|read)$/,
];
const dataPlaces = [
  // Contents of sessions.
  ...[
    '.task-link-title',
    '.reasoning-glance',
    '.approval-reason',
    '.long-text',
    '.diff',
    '.tool-name',
  ],
  ...['.tool-summary', '.input-fields dt', '.output-text', '.prompt-messages', '.overview-list'],
  // Raw records and spans have the words of the protocol.
  ...['.record-type', '.record-text', '.record-detail dd', '.record-detail h3', '.span-row'],
  ...['.compare-items', '.span-detail-line', '.span-detail h4', '.tag'],
  // Names, values and times.
  ...['table td', 'table th[scope=row]', '.chart-value', '.ruler', '.scrubber-frame', '.facts dd'],
];

describeInChromium()('22.8: languages', () => {
  const harness = useBrowserHarness();

  test('every text of every screen is in the file of the language', async () => {
    const visitor = await harness.visitor();
    await usePseudoLanguage(visitor.context);
    const tab = await visitor.tab();
    const outside: Record<string, readonly string[]> = {};
    const check = async (name: string) => {
      const texts = await tab.page.evaluate<string[]>(unmarkedTexts(known, dataPlaces));
      if (texts.length > 0) outside[name] = texts;
    };
    await eachScreen(tab, check);
    await tab.page.getByRole('button', { name: 'Settings' }).click();
    await tab.page.getByRole('dialog').waitFor();
    await check('settings');
    expect(outside).toEqual({});
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('a page from right to left fits a phone of 360 px', async () => {
    const visitor = await harness.visitor({ viewport: { width: 360, height: 740 } });
    await usePseudoLanguage(visitor.context, 'rtl');
    const tab = await visitor.tab();
    const wide: Record<string, readonly string[]> = {};
    await eachScreen(tab, async (name) => {
      const found = await tab.page.evaluate<string[]>(`(() => {
        if (document.dir !== 'rtl') return ['not from right to left'];
        const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowX);
        const isInside = (one) => one !== null && (scrolls(one) || isInside(one.parentElement));
        return [...document.body.querySelectorAll('*')]
          .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('svg, .unseen, .katex'))
          .filter((one) => {
            const { left, right, width } = one.getBoundingClientRect();
            return width > 1 && (left < -1 || right > innerWidth + 1) && !isInside(one.parentElement);
          })
          .map((one) => one.tagName + '.' + one.className)
          .concat(document.documentElement.scrollWidth > innerWidth ? ['the page scrolls'] : []);
      })()`);
      if (found.length > 0) wide[name] = found;
    });
    expect(wide).toEqual({});
  });

  test('only the language of the browser is loaded, and the settings change it', async () => {
    const visitor = await harness.visitor({ locale: 'de-AT' });
    const loaded: string[] = [];
    visitor.context.on('request', (request) => {
      const file = /\/assets\/(en|de|es|zh)-/.exec(request.url())?.[1];
      if (file !== undefined) loaded.push(file);
    });
    const { page } = await visitor.tab();
    await page.getByRole('heading', { name: 'Was möchten Sie tun?' }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('de-AT');
    await page.getByRole('button', { name: 'Einstellungen' }).click();
    await page.getByRole('combobox', { name: 'Sprache' }).selectOption('中文');
    await page.getByRole('heading', { name: '您想做什么？' }).waitFor();
    expect([...new Set(loaded)]).toEqual(['de', 'zh']);
    // The choice is for all tabs.
    const second = await visitor.tab('/app/overview');
    await second.page.getByRole('heading', { name: '概览' }).waitFor();
    expect(await second.page.locator('html').getAttribute('lang')).toBe('zh');
  });
});
