import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { patientMs } from '../../../../../packages/core/src/testing/runs.ts';
import { sharedChromium } from './needs-chromium.ts';
import { PageServer } from './page-server.ts';
import { WatchedBrowser } from './watched-browser.ts';

/** A server that serves the page. */
interface PageHost {
  readonly url: string;
  close(): Promise<void>;
}

interface BrowserHarness<S extends PageHost = PageServer> {
  readonly server: S;
  /**
   * Opens a new browser context that records faults of the page. `atEnd` receives a function that
   * closes the context. Default: the context is closed after the test.
   */
  visitor(
    options?: BrowserContextOptions,
    atEnd?: (close: () => Promise<void>) => void,
  ): Promise<WatchedBrowser>;
}

/** Starts a server and a browser for the tests of a file. */
export function useBrowserHarness(): BrowserHarness {
  return useBrowserHarnessFor(() => PageServer.start());
}

/** Starts a browser with a custom server. `launch` starts the browser. Default: the shared Chromium. */
export function useBrowserHarnessFor<S extends PageHost>(
  start: () => Promise<S>,
  launch: () => Promise<Browser> = sharedChromium,
): BrowserHarness<S> {
  let server: S | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    server = await start();
    browser = await launch();
    // On a busy machine, it takes long to build the page and to start a browser.
  }, patientMs(60_000));
  afterAll(async () => {
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
    async visitor(options, atEnd = onTestFinished) {
      const watched = await WatchedBrowser.open(required(browser), required(server).url, options);
      atEnd(() => watched.close());
      return watched;
    },
  };
}
