import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createToken } from '@millrace/server';
import type { Page, Request } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { useBrowserHarnessFor } from './testing/browser-harness.ts';
import { describeInChromium } from './testing/needs-chromium.ts';
import { PageServer } from './testing/page-server.ts';

// The link that `millrace serve` prints contains the token. After the page has opened, the address
// bar, the history, logs and the shared browser storage must not contain it.

const token = createToken();

describeInChromium()('the token in a link', () => {
  const harness = useBrowserHarnessFor(() => PageServer.start(token));

  /** Opens the link and waits until the page is signed in. */
  async function openLink(path = '/') {
    const visitor = await harness.visitor();
    const requests: Request[] = [];
    visitor.context.on('request', (request) => requests.push(request));
    const page = await visitor.context.newPage();
    const agents = page.waitForResponse(/\/agents\?/);
    await page.goto(`${path}#token=${token}`);
    expect((await agents).status()).toBe(200);
    return { visitor, page, requests };
  }

  test.each(['/', '/app/overview', '/app/new?agent=builder'])(
    'attack 8: is not in the address or the history of %s',
    async (path) => {
      const { page } = await openLink(path);
      expect(page.url()).toBe(new URL(path, harness.server.url).href);
      expect(
        await page.evaluate('document.documentElement.outerHTML + document.referrer'),
      ).not.toContain(token);
      await page.goto('/app/overview');
      await page.goBack();
      expect(page.url()).not.toContain(token);
    },
  );

  test('attack 8: is in no address of a request and in no other header than authorization', async () => {
    const { page, requests } = await openLink();
    const agents = page.waitForResponse(/\/agents\?/);
    await page.goto('/app/overview');
    await agents;
    const sent = requests.filter((request) => request.headers()['authorization']?.includes(token));
    expect(sent.length).toBeGreaterThan(0);
    // The report of the first navigation contains the fragment, although the browser does not send
    // it.
    for (const request of requests.slice(1)) {
      expect(request.url()).not.toContain(token);
      const { authorization: _, ...others } = await request.allHeaders();
      expect(JSON.stringify(others)).not.toContain(token);
    }
  });

  test('attack 8: is in no storage that outlives the tab', async () => {
    const { visitor, page } = await openLink();
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, document.cookie])');
    expect(stored).not.toContain(token);
    expect(JSON.stringify(await visitor.context.storageState())).not.toContain(token);
    expect(await page.evaluate("sessionStorage.getItem('millrace:token')")).toBe(token);
  });

  test('attack 8: is not given to a page of another origin', async () => {
    const { visitor } = await openLink();
    const other = await visitor.context.newPage();
    const { port } = new URL(harness.server.url);
    // The same server with a different host name is a different origin.
    await visitor.context.unrouteAll();
    await other.goto(`http://localhost:${port}/`);
    await other.getByRole('dialog', { name: 'This server requires a token' }).waitFor();
    expect(await other.evaluate("sessionStorage.getItem('millrace:token')")).toBeNull();
  });

  test('18.221: attack: a redirect signs the user in with the token of an attacker', async () => {
    const { visitor, page } = await openLink();
    const stored = (tab: Page) => tab.evaluate("sessionStorage.getItem('millrace:token')");
    // A link without this fragment can lead to a redirect with it.
    const target = `${harness.server.url}/app/overview#token=${createToken()}`;
    const evil = createServer((_, response) => response.writeHead(302, { location: target }).end());
    onTestFinished(() => void evil.close());
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    await visitor.context.unrouteAll();
    const tab = await visitor.context.newPage();
    await tab.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
    const question = tab.getByRole('dialog', { name: 'Sign in with the token of this link?' });
    await question.waitFor();
    expect([tab.url(), await stored(tab)]).toEqual([target.split('#', 1)[0], null]);
    // A key that the user presses by chance does not sign in. The tab gets the token of the other tab
    // and loads again. Enter clicks the focused button. After a real key press, the browser could wait
    // for the old page, so the page itself clicks later. Chromium may never close a tab that loads.
    const signedIn = tab.waitForResponse(
      (response) => response.url().includes('/agents?') && response.ok(),
    );
    await tab.evaluate('void setTimeout(() => document.activeElement.click())');
    await signedIn;
    await tab.waitForLoadState();
    await question.waitFor({ state: 'detached' });
    expect(await stored(tab)).toBe(token);
    await tab.close();
    // The same link in a tab that shows the page only changes the fragment of its address.
    await page.goto(new URL(target).hash);
    await page.getByRole('dialog', { name: 'Sign in with the token of this link?' }).waitFor();
    expect(await stored(page)).toBe(token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('The server does not accept the stored token.').waitFor();
  });

  test.each(['new', 'with a service worker'])(
    '18.1076: attack: a page without a referrer signs the user in with the token of an attacker, in a browser that is %s',
    async (kind) => {
      const visitor = await harness.visitor();
      await visitor.context.unrouteAll();
      const tab = await visitor.context.newPage();
      if (kind !== 'new') {
        await tab.goto('/');
        await tab.evaluate('navigator.serviceWorker.ready.then(() => {})');
      }
      const target = `${harness.server.url}/#token=${token}`;
      const html = `<meta name="referrer" content="no-referrer"><a href="${target}">click</a>`;
      const evil = createServer((_, response) =>
        response.setHeader('content-type', 'text/html').end(html),
      );
      onTestFinished(() => void evil.close());
      await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
      await tab.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
      await tab.getByText('click').click();
      await tab.getByRole('dialog', { name: 'Sign in with the token of this link?' }).waitFor();
      expect(await tab.evaluate('document.referrer')).toBe('');
      expect(await tab.evaluate("sessionStorage.getItem('millrace:token')")).toBeNull();
    },
  );
});
