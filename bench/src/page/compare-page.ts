import { type Browser, chromium } from 'playwright-core';
import { chromiumPath } from '../../../apps/web/src/e2e/testing/needs-chromium.ts';
import { type BuiltPages, buildPages } from './built-pages.ts';
import { answerCandidates, pageCandidates } from './candidates.ts';
import { measureAnswer, measurePage, type PageCost } from './measure-pages.ts';
import { deltas, fewItems, items, slowDeltas, slowdown } from './page-content.ts';

/** Measures Millrace's page in Chromium, compared with pages of useChat and of assistant-ui. */
export async function comparePage(): Promise<void> {
  const path = chromiumPath();
  if (path === undefined)
    return console.log('\nThe page: skipped, because Chromium is not installed');
  const pages = await buildPages();
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  try {
    await compareAnswers(browser, pages);
    await compareSlowAnswers(browser, pages);
    await comparePages(browser, pages);
  } finally {
    await browser.close();
  }
}

const count = (value: number) => Math.round(value).toLocaleString('en');

const figures: readonly (readonly [name: string, read: (cost: PageCost) => number])[] = [
  ['first load, bytes', ({ firstLoadBytes }) => firstLoadBytes],
  [`opened with ${fewItems} items, median of 5, ms`, ({ fewMs }) => fewMs],
  [`opened with ${count(items)} items, median of 5, ms`, ({ openedMs }) => openedMs],
  [
    `${count(items)} items, as a multiple of ${fewItems}`,
    ({ openedMs, fewMs }) => openedMs / fewMs,
  ],
  [`main thread for ${fewItems} items, median of 5, ms`, ({ fewWorkMs }) => fewWorkMs],
  [`main thread for ${count(items)} items, median of 5, ms`, ({ workMs }) => workMs],
  [`${count(items)} items: longest task, ms (0: below 50)`, ({ opening }) => opening.longestMs],
  [`${count(items)} items: elements`, ({ elements }) => elements],
  [`${count(items)} items: heap, MB`, ({ heapMb }) => heapMb],
  ['scrolled up: 95 % of frames take at most, ms', ({ scrollFrameMs }) => scrollFrameMs],
];

async function comparePages(browser: Browser, pages: BuiltPages): Promise<void> {
  const candidates = pageCandidates(pages);
  const costs: PageCost[] = [];
  for (const candidate of candidates) costs.push(await measurePage(browser, candidate));
  console.log('\nThe page in Chromium: the first load, and a session that opens');
  printRow('', ['ours', ...candidates.slice(1).map(({ name }) => name)]);
  const format = (value: number) =>
    value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : count(value);
  for (const [name, read] of figures) printRow(name, costs.map(read).map(format));
}

async function compareAnswers(browser: Browser, pages: BuiltPages): Promise<void> {
  console.log(
    `\nAn answer of ${count(deltas)} deltas: ms of the main thread per 1,000 deltas, and tasks over 50 ms`,
  );
  printRow('', ['first', 'last', 'mean', 'script', 'long tasks', 'longest', 'deltas/s', 'mean ×']);
  let ourMean: number | undefined;
  for (const candidate of answerCandidates(pages)) {
    const { first, last, mean, perSecond, smoothness } = await measureAnswer(browser, candidate, {
      deltas,
    });
    ourMean ??= mean.task;
    printRow(candidate.name, [
      ...[first.task, last.task, mean.task, mean.script, smoothness.longTasks].map(count),
      ...[smoothness.longestMs, perSecond].map(count),
      (mean.task / ourMean).toFixed(2),
    ]);
  }
}

async function compareSlowAnswers(browser: Browser, pages: BuiltPages): Promise<void> {
  console.log(
    `\nAn answer of ${count(slowDeltas)} deltas on a processor that is ${slowdown} times slower`,
  );
  printRow('', ['frames/s', '95 % ms', 'long tasks', 'longest', 'deltas/s']);
  for (const candidate of answerCandidates(pages)) {
    const options = { deltas: slowDeltas, slowdown, hasFrames: true };
    const { perSecond, smoothness } = await measureAnswer(browser, candidate, options);
    const { framesPerSecond = 0, frameMs = 0, longTasks, longestMs } = smoothness;
    printRow(candidate.name, [
      ...[framesPerSecond.toFixed(1), frameMs.toFixed(1)],
      ...[longTasks, longestMs, perSecond].map(count),
    ]);
  }
}

function printRow(name: string, cells: readonly string[]): void {
  console.log(`${name.padEnd(46)} ${cells.map((cell) => cell.padStart(12)).join(' ')}`.trimEnd());
}
