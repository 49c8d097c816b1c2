import { chromium } from 'playwright-core';
import { chromiumPath } from '../../../apps/web/src/e2e/testing/needs-chromium.ts';
import { buildPages } from './built-pages.ts';
import {
  chunkAnswer,
  hookAnswer,
  hookWeight,
  ourAnswer,
  ourWeight,
  type Weight,
} from './contenders.ts';
import type { AnswerCost } from './long-answer.ts';
import { deltas, items } from './page-words.ts';

/** As the AI SDK's guide says for what is slow to render. */
const throttleMs = 50;

/** The page in Chromium, and the plain page of useChat's guide beside it. */
export async function comparePage(): Promise<void> {
  const path = chromiumPath();
  if (path === undefined) return console.log('\nThe page: there is no Chromium here. Left out');
  const pages = await buildPages();
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  try {
    const [mine, theirs] = [await ourWeight(browser, pages), await hookWeight(browser, pages)];
    printWeights(mine, theirs);
    console.log(
      `\nMain thread per 1,000 of ${count(deltas)} deltas, ms: all tasks, and script alone`,
    );
    const own = await ourAnswer(browser, pages);
    printAnswer('ours, with Markdown', own, own);
    printAnswer('useChat, same stream', await hookAnswer(browser, pages, undefined), own);
    const slow = `throttle ${throttleMs}`;
    printAnswer(`useChat, same stream, ${slow}`, await hookAnswer(browser, pages, throttleMs), own);
    printAnswer('useChat, a chunk a delta', await chunkAnswer(browser, pages, undefined), own);
    printAnswer(
      `useChat, a chunk a delta, ${slow}`,
      await chunkAnswer(browser, pages, throttleMs),
      own,
    );
  } finally {
    await browser.close();
  }
}

const count = (value: number) => Math.round(value).toLocaleString('en');
const ratio = (theirs: number, ours: number) => `${(theirs / ours).toFixed(2)} × ours`;

function printWeights(ours: Weight, theirs: Weight): void {
  console.log(`\nThe page in Chromium: a session of ${count(items)} items, and the first load`);
  row('', 'ours', 'useChat', '');
  const figures: readonly (readonly [string, keyof Weight])[] = [
    ['opened, median of 5, ms', 'openedMs'],
    ['elements', 'elements'],
    ['heap, MB', 'heapMb'],
    ['scrolled up: 95 % of frames take at most, ms', 'scrollFrameMs'],
    ['first load, bytes', 'firstLoadBytes'],
  ];
  for (const [name, key] of figures) {
    const [own = 0, other = 0] = [ours[key], theirs[key]];
    const told = (value: number) => (value < 100 ? value.toFixed(1) : count(value));
    row(name, told(own), told(other), ratio(other, own));
  }
  const { openedMs, emptyMs = openedMs } = ours;
  row(
    'opened with 3 items, ms',
    count(emptyMs),
    '',
    `5,000 take ${(openedMs / emptyMs).toFixed(2)} × that`,
  );
}

function row(name: string, ours: string, theirs: string, note: string): void {
  console.log(`${name.padEnd(46)} ${ours.padStart(10)} ${theirs.padStart(10)}   ${note}`.trimEnd());
}

function printAnswer(name: string, cost: AnswerCost, own: AnswerCost): void {
  const told = ({ task, script }: AnswerCost['first']) =>
    `${task.toFixed(0).padStart(6)} ${script.toFixed(0).padStart(5)}`;
  const { first, last, mean, perSecond } = cost;
  const figures = `first ${told(first)}   last ${told(last)}   mean ${told(mean)}`;
  const times = cost === own ? '' : `   mean: ${ratio(mean.task, own.mean.task)}`;
  console.log(`${name.padEnd(38)} ${figures}   at ${count(perSecond)}/s${times}`);
}
