import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describeInChromium()('remote pictures', () => {
  const harness = useBrowserHarness();

  async function answered(text: string) {
    const visitor = await harness.visitor();
    const asked: string[] = [];
    await visitor.context.route('https://*.example/**', (route) => {
      asked.push(route.request().url());
      expect(route.request().headers()['referer']).toBeUndefined();
      return route.fulfill({ contentType: 'image/png', body: pixel });
    });
    const tab = await visitor.tab();
    await tab.send(`say\n${text}\n\nEnd.`);
    await tab.waitForText('End.');
    return { visitor, tab, asked };
  }

  test('are requested only after the user agreed, and only the agreed ones', async () => {
    const { visitor, tab, asked } = await answered(
      [
        '![a](https://one.example/a.png) ![b](https://one.example/b.png)',
        '<img src="https://two.example/c.png" alt="c">',
        '<div><img src="https://two.example/d.png"></div>',
        '![e](https://two.example/e.png)',
      ].join('\n\n'),
    );
    const { answer, page } = tab;
    // Frames load only in sight.
    await page.setViewportSize({ width: 1280, height: 3000 });
    await expect.poll(() => answer.locator('.picture-card').count()).toBe(5);
    expect(asked).toEqual([]);
    await answer.getByRole('button', { name: 'Show picture' }).first().click();
    await expect.poll(() => asked).toEqual(['https://one.example/a.png']);
    await answer.frameLocator('iframe').locator('img').waitFor();
    await answer.getByRole('button', { name: 'Always from this host' }).last().click();
    // The user's own message contains the same pictures, so the page requests each of them twice.
    const agreed = ['c', 'c', 'd', 'd', 'e', 'e'].map((name) => `https://two.example/${name}.png`);
    await expect.poll(() => asked.slice(1).sort()).toEqual(agreed);
    expect(await answer.locator('.picture-card').count()).toBe(1);
    await page.reload();
    await expect.poll(() => tab.answer.locator('.picture-card').count()).toBe(5);
    expect(asked.slice(1).sort()).toEqual(agreed);
    expect(await visitor.allFaults()).toEqual([]);
  });

  test('cannot be loaded by the page itself', async () => {
    const { visitor, tab, asked } = await answered('Nothing.');
    await tab.page.evaluate(
      "document.body.append(Object.assign(new Image(), { src: 'https://one.example/x.png' }))",
    );
    await expect
      .poll(() => visitor.allFaults())
      .toContainEqual(expect.stringContaining('was refused img-src'));
    expect(asked).toEqual([]);
  });
});
