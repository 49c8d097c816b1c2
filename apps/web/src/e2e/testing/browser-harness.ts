import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { chromiumPath } from './needs-chromium.ts';
import { PageServer } from './page-server.ts';
import { WatchedBrowser } from './watched-browser.ts';

/** A server that has the page. */
interface Served {
  readonly url: string;
  close(): Promise<void>;
}

interface Stage<S extends Served = PageServer> {
  readonly server: S;
  /** A browser of somebody who was never here, for one test. It says what it should not have done. */
  visitor(options?: BrowserContextOptions): Promise<WatchedBrowser>;
}

/** A server and a browser for the tests of a file. */
export function useStage(): Stage {
  return useStageOf(() => PageServer.start());
}

/** The same, with a server of one's own. */
export function useStageOf<S extends Served>(start: () => Promise<S>): Stage<S> {
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
  const there = <T>(thing: T | undefined): T => {
    if (thing === undefined) throw new Error('There is a stage only while tests run');
    return thing;
  };
  return {
    get server() {
      return there(server);
    },
    async visitor(options) {
      const watched = await WatchedBrowser.open(there(browser), there(server).url, options);
      onTestFinished(() => watched.close());
      return watched;
    },
  };
}
