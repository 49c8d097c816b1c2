import type { Browser, CDPSession, Page } from 'playwright-core';

export type Metrics = Readonly<Record<string, number>>;

const scroll = `new Promise((resolve) => {
  const list = document.querySelector('.transcript') ?? document.scrollingElement;
  list.dispatchEvent(new WheelEvent('wheel', { bubbles: true }));
  list.scrollTop = list.scrollHeight;
  const frames = [];
  let last = performance.now();
  const step = (now) => {
    frames.push(now - last);
    last = now;
    list.scrollTop -= 400;
    if (frames.length < 300 && list.scrollTop > 0) requestAnimationFrame(step);
    else resolve(frames.slice(1));
  };
  requestAnimationFrame(step);
})`;

/** A browser tab without a cache. It provides performance metrics. */
export class MeasuredTab implements AsyncDisposable {
  readonly page: Page;
  readonly session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.session = session;
  }

  static async open(browser: Browser): Promise<MeasuredTab> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(300_000);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    return new MeasuredTab(page, session);
  }

  async metrics(): Promise<Metrics> {
    const { metrics } = await this.session.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }

  /** Returns the number of bytes that a visit receives over the network. */
  async bytesOf(visit: () => Promise<unknown>): Promise<number> {
    let bytes = 0;
    await this.session.send('Network.enable');
    this.session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await visit();
    await this.page.waitForLoadState('networkidle');
    return bytes;
  }

  /** Returns the size of the heap after a garbage collection, in MB. */
  async heapMb(): Promise<number> {
    await this.session.send('HeapProfiler.collectGarbage');
    return ((await this.metrics())['JSHeapUsedSize'] ?? 0) / 1e6;
  }

  /** Scrolls up from the end, half a screen per frame. Returns the 95th percentile of the frame times. */
  async scrollFrameMs(): Promise<number> {
    const frames = await this.page.evaluate<readonly number[]>(scroll);
    return frames.toSorted((a, b) => a - b)[Math.floor(0.95 * (frames.length - 1))] ?? 0;
  }

  elements(): Promise<number> {
    return this.page.evaluate<number>("document.querySelectorAll('*').length");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close();
  }
}
