import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useBrowserHarness } from './testing/browser-harness.ts';
import { builtPage } from './testing/built-page.ts';
import { describeInChromium } from './testing/needs-chromium.ts';

describeInChromium()('22.8: the page as an app', () => {
  const harness = useBrowserHarness();

  test('opens without the server, keeps the draft, and stores no reply of the server', async () => {
    const visitor = await harness.visitor();
    const tab = await visitor.tab();
    await tab.send('tell me');
    await tab.waitForText('See the protocol');
    await tab.message.fill('a draft');
    const isStored = `(async () => {
      await navigator.serviceWorker.ready;
      const names = await caches.keys();
      const urls = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map(({ url }) => url)));
      return urls.flat().map((url) => new URL(url).pathname);
    })()`;
    // The worker stores the language after the page has told it which files it loaded.
    await expect
      .poll(() => tab.page.evaluate<string[]>(isStored))
      .toContainEqual(expect.stringMatching(/^\/assets\/en-/));
    const paths = await tab.page.evaluate<string[]>(isStored);
    expect(paths).toContain('/');
    // Only the page itself and files with a hash in their names.
    expect(paths.filter((path) => path !== '/' && !/^\/assets\/[\w.-]+$/.test(path))).toEqual([]);
    expect(paths.filter((path) => /\/assets\/(?:de|es|zh)-/.test(path))).toEqual([]);
    await harness.server.kill();
    try {
      await tab.page.reload();
      await tab.message.waitFor();
      expect(await tab.message.inputValue()).toBe('a draft');
      await tab.page
        .getByText(/The connection was lost|Reconnecting/)
        .first()
        .waitFor();
    } finally {
      await harness.server.restart();
    }
    await tab.page.reload();
    await tab.waitForText('See the protocol');
  });

  test('the manifest names icons that exist', () => {
    const folder = builtPage();
    const manifest = JSON.parse(readFileSync(join(folder, 'app.webmanifest'), 'utf8')) as {
      readonly icons: readonly { readonly src: string }[];
    };
    for (const { src } of manifest.icons)
      expect(readFileSync(join(folder, src)).length).toBeGreaterThan(100);
  });

  test('the server has the Web Components as one script', async () => {
    const response = await fetch(new URL('/elements.js', harness.server.url));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const code = await response.text();
    expect(code).toContain('millrace-session');
    expect(code).not.toMatch(/^import /m);
  });
});
