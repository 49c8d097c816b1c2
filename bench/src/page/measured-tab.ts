import type { Browser, CDPSession, Page } from 'playwright-core';

export type Metrics = Readonly<Record<string, number>>;

/** How smoothly a page reacts while something happens. */
export interface Smoothness {
  /** The number of tasks that block the main thread for more than 50 ms. */
  readonly longTasks: number;
  /** The duration of the longest task, in ms. It is 0 if no task takes more than 50 ms. */
  readonly longestMs: number;
  /** The frames per second. Undefined if the tab does not count frames. */
  readonly framesPerSecond: number | undefined;
  /** 95 % of all frames come at most this time after the frame before, in ms. */
  readonly frameMs: number | undefined;
}

interface TabOptions {
  /** How many times slower the processor is. Default: 1. */
  readonly slowdown?: number;
  /** If true, the tab counts frames. The count costs a little time per frame. Default: false. */
  readonly hasFrames?: boolean;
}

const scroll = `new Promise((resolve) => {
  const list = document.querySelector('.transcript') ?? document.querySelector('[data-viewport]') ??
    document.scrollingElement;
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

/** Records the long tasks of the page, and the times of its frames. */
const watch = (hasFrames: boolean) => `{
  const watched = { tasks: [], frames: [] };
  globalThis.watched = watched;
  const add = (entries) => watched.tasks.push(...entries.map(({ duration }) => duration));
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: 'longtask', buffered: true });
  watched.flush = () => add(observer.takeRecords());
  const frame = (now) => {
    watched.frames.push(now);
    requestAnimationFrame(frame);
  };
  if (${hasFrames}) requestAnimationFrame(frame);
}`;

/** A browser tab without a cache. It provides performance metrics. */
export class MeasuredTab implements AsyncDisposable {
  readonly page: Page;
  readonly session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.session = session;
  }

  static async open(
    browser: Browser,
    { slowdown = 1, hasFrames = false }: TabOptions = {},
  ): Promise<MeasuredTab> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(600_000);
    await page.addInitScript(watch(hasFrames));
    const session = await page.context().newCDPSession(page);
    // Thread time counts only the work of this tab, so other programs on the machine hardly matter.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
    return new MeasuredTab(page, session);
  }

  async metrics(): Promise<Metrics> {
    const { metrics } = await this.session.send('Performance.getMetrics');
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }

  /** Forgets the tasks and frames until now. */
  async resetSmoothness(): Promise<void> {
    await this.page.evaluate(
      '{ watched.flush(); watched.tasks.length = 0; watched.frames.length = 0; }',
    );
  }

  /** Returns how smooth the page was since it was opened or reset. */
  async smoothness(): Promise<Smoothness> {
    type Watched = { readonly tasks: readonly number[]; readonly frames: readonly number[] };
    const { tasks, frames } = await this.page.evaluate<Watched>('(watched.flush(), watched)');
    const times = frames.slice(1).map((at, index) => at - (frames[index] ?? 0));
    const seconds = ((frames.at(-1) ?? 0) - (frames[0] ?? 0)) / 1000;
    return {
      longTasks: tasks.length,
      longestMs: Math.max(0, ...tasks),
      framesPerSecond: times.length === 0 ? undefined : times.length / seconds,
      frameMs: times.length === 0 ? undefined : percentile95(times),
    };
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
    return percentile95(await this.page.evaluate<readonly number[]>(scroll));
  }

  elements(): Promise<number> {
    return this.page.evaluate<number>("document.querySelectorAll('*').length");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close();
  }
}

function percentile95(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(0.95 * (times.length - 1))] ?? 0;
}
