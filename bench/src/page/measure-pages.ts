import type { Browser } from 'playwright-core';
import { type AnswerCost, AnswerMeter } from './answer-cost.ts';
import type { Candidate } from './candidates.ts';
import { MeasuredTab, type Smoothness } from './measured-tab.ts';
import { fewItems, items, shownItem } from './page-content.ts';

/** What a page costs before an answer streams into it. */
export interface PageCost {
  readonly firstLoadBytes: number;
  /** The median time from the navigation until the last of 3 items is shown. */
  readonly fewMs: number;
  /** The same time for a session of 5,000 items. */
  readonly openedMs: number;
  /** The median work of the main thread until the last of 3 items is shown, in ms. */
  readonly fewWorkMs: number;
  /** The same work for a session of 5,000 items. */
  readonly workMs: number;
  /** The tasks during the opening of 5,000 items. */
  readonly opening: Smoothness;
  readonly elements: number;
  readonly heapMb: number;
  readonly scrollFrameMs: number;
}

const rounds = 5;

/** Measures the first load of a page, and how it opens a short and a long session. */
export async function measurePage(browser: Browser, candidate: Candidate): Promise<PageCost> {
  await using served = await candidate.serve({ deltas: 0, onWord: () => {} });
  const firstLoadBytes = await firstLoad(browser, served.url);
  const [few, long] = [await served.session(fewItems), await served.session(items)];
  const [fewTimes, longTimes]: [Opened[], Opened[]] = [[], []];
  // The two sessions take turns, so that a change of the machine's speed affects both.
  for (let round = 0; round < rounds; round++) {
    fewTimes.push(await opened(browser, few, fewItems));
    longTimes.push(await opened(browser, long, items));
  }
  await using tab = await MeasuredTab.open(browser);
  await openSession(tab, long, items);
  const opening = await tab.smoothness();
  const [elements, heapMb] = [await tab.elements(), await tab.heapMb()];
  return {
    ...{ firstLoadBytes, opening },
    ...{ fewMs: median(fewTimes, 'ms'), openedMs: median(longTimes, 'ms') },
    ...{ fewWorkMs: median(fewTimes, 'workMs'), workMs: median(longTimes, 'workMs') },
    ...{ elements, heapMb, scrollFrameMs: await tab.scrollFrameMs() },
  };
}

async function firstLoad(browser: Browser, url: string): Promise<number> {
  await using tab = await MeasuredTab.open(browser);
  return await tab.bytesOf(() => tab.page.goto(url));
}

interface Opened {
  readonly ms: number;
  readonly workMs: number;
}

async function opened(browser: Browser, url: string, count: number): Promise<Opened> {
  await using tab = await MeasuredTab.open(browser);
  const from = performance.now();
  await openSession(tab, url, count);
  const ms = performance.now() - from;
  return { ms, workMs: 1000 * ((await tab.metrics())['TaskDuration'] ?? 0) };
}

async function openSession({ page }: MeasuredTab, url: string, count: number): Promise<void> {
  await page.goto(url, { waitUntil: 'commit' });
  await page.getByText(shownItem(count - 1)).waitFor();
}

function median(times: readonly Opened[], figure: keyof Opened): number {
  const sorted = times.map((one) => one[figure]).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

interface AnswerOptions {
  readonly deltas: number;
  /** How many times slower the processor is. Default: 1. */
  readonly slowdown?: number;
  /** If true, the frames are counted. Default: false. */
  readonly hasFrames?: boolean;
}

/** Measures a page while an answer streams into it. */
export async function measureAnswer(
  browser: Browser,
  candidate: Candidate,
  { deltas, ...options }: AnswerOptions,
): Promise<AnswerCost> {
  let onWord: (count: number) => void = () => {};
  await using served = await candidate.serve({ deltas, onWord: (count) => onWord(count) });
  const { url, start } = await served.answer();
  await using tab = await MeasuredTab.open(browser, options);
  await tab.page.goto(url);
  await tab.page.getByRole('textbox', { name: 'Message' }).waitFor();
  const meter = new AnswerMeter(tab, deltas);
  onWord = meter.onWord;
  await tab.resetSmoothness();
  await start(tab.page);
  await meter.streamed;
  await tab.page.getByText(`word${deltas}`).waitFor();
  return await meter.cost();
}
