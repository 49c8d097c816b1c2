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
    // A frame that leaves the screen and comes back requests its picture again.
    await expect.poll(() => new Set(asked).size).toBe(4);
    expect([...new Set(asked)].slice(1).sort()).toEqual([
      'https://two.example/c.png',
      'https://two.example/d.png',
      'https://two.example/e.png',
    ]);
    expect(await answer.locator('.picture-card').count()).toBe(1);
    const before = asked.length;
    await page.reload();
    await expect.poll(() => tab.answer.locator('.picture-card').count()).toBe(5);
    expect(asked).toHaveLength(before);
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
