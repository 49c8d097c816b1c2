import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { chromiumPath } from './needs-chromium.ts';
import { PageServer } from './page-server.ts';
import { WatchedBrowser } from './watched-browser.ts';

/** A server that has the page. */
interface PageHost {
  readonly url: string;
  close(): Promise<void>;
}

interface BrowserHarness<S extends PageHost = PageServer> {
  readonly server: S;
  /** A browser of somebody who was never here, for one test. It says what it should not have done. */
  visitor(options?: BrowserContextOptions): Promise<WatchedBrowser>;
}

/** A server and a browser for the tests of a file. */
export function useBrowserHarness(): BrowserHarness {
  return useBrowserHarnessFor(() => PageServer.start());
}

/** The same, with a server of one's own. */
export function useBrowserHarnessFor<S extends PageHost>(
  start: () => Promise<S>,
): BrowserHarness<S> {
  let server: S | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    server = await start();
    browser = await chromium.launch({
      executablePath: chromiumPath() ?? 'chromium',
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    });
    // To build the page and to start a browser takes long on a machine that has much else to do.
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  const required = <T>(thing: T | undefined): T => {
    if (thing === undefined)
      throw new Error('The browser harness is available only while tests run');
    return thing;
  };
  return {
    get server() {
      return required(server);
    },
    async visitor(options) {
      const watched = await WatchedBrowser.open(required(browser), required(server).url, options);
      onTestFinished(() => watched.close());
      return watched;
    },
  };
}
