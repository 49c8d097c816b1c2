import { chromium } from 'playwright-core';
import { chromiumPath } from '../../../apps/web/src/e2e/testing/needs-chromium.ts';
import type { AnswerCost } from './answer-cost.ts';
import { buildPages } from './built-pages.ts';
import {
  measureChunkAnswer,
  measureOurAnswer,
  measureOurPage,
  measureUseChatAnswer,
  measureUseChatPage,
  type PageSize,
} from './measure-pages.ts';
import { deltas, items } from './page-content.ts';

/** The throttle of useChat. The AI SDK's guide recommends this value for slow rendering. */
const throttleMs = 50;

/** Measures Millrace's page in Chromium, compared with the plain page of the useChat guide. */
export async function comparePage(): Promise<void> {
  const path = chromiumPath();
  if (path === undefined)
    return console.log('\nThe page: skipped, because Chromium is not installed');
  const pages = await buildPages();
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  try {
    const [mine, theirs] = [
      await measureOurPage(browser, pages),
      await measureUseChatPage(browser, pages),
    ];
    printPageSizes(mine, theirs);
    console.log(
      `\nMain thread per 1,000 of ${count(deltas)} deltas, ms: all tasks, and script alone`,
    );
    const own = await measureOurAnswer(browser, pages);
    printAnswer('ours, with Markdown', own, own);
    printAnswer('useChat, same stream', await measureUseChatAnswer(browser, pages, undefined), own);
    const slow = `throttle ${throttleMs}`;
    printAnswer(
      `useChat, same stream, ${slow}`,
      await measureUseChatAnswer(browser, pages, throttleMs),
      own,
    );
    printAnswer(
      'useChat, one chunk per delta',
      await measureChunkAnswer(browser, pages, undefined),
      own,
    );
    printAnswer(
      `useChat, one chunk per delta, ${slow}`,
      await measureChunkAnswer(browser, pages, throttleMs),
      own,
    );
  } finally {
    await browser.close();
  }
}

const count = (value: number) => Math.round(value).toLocaleString('en');
const ratio = (theirs: number, ours: number) => `${(theirs / ours).toFixed(2)} × ours`;

function printPageSizes(ours: PageSize, theirs: PageSize): void {
  console.log(`\nThe page in Chromium: a session of ${count(items)} items, and the first load`);
  row('', 'ours', 'useChat', '');
  const figures: readonly (readonly [string, keyof PageSize])[] = [
    ['opened, median of 5, ms', 'openedMs'],
    ['elements', 'elements'],
    ['heap, MB', 'heapMb'],
    ['scrolled up: 95 % of frames take at most, ms', 'scrollFrameMs'],
    ['first load, bytes', 'firstLoadBytes'],
  ];
  for (const [name, key] of figures) {
    const [own = 0, other = 0] = [ours[key], theirs[key]];
    const format = (value: number) => (value < 100 ? value.toFixed(1) : count(value));
    row(name, format(own), format(other), ratio(other, own));
  }
  const { openedMs, emptyMs = openedMs } = ours;
  row(
    'opened with 3 items, ms',
    count(emptyMs),
    '',
    `5,000 items take ${(openedMs / emptyMs).toFixed(2)} × that`,
  );
}

function row(name: string, ours: string, theirs: string, note: string): void {
  console.log(`${name.padEnd(46)} ${ours.padStart(10)} ${theirs.padStart(10)}   ${note}`.trimEnd());
}

function printAnswer(name: string, cost: AnswerCost, own: AnswerCost): void {
  const format = ({ task, script }: AnswerCost['first']) =>
    `${task.toFixed(0).padStart(6)} ${script.toFixed(0).padStart(5)}`;
  const { first, last, mean, perSecond } = cost;
  const figures = `first ${format(first)}   last ${format(last)}   mean ${format(mean)}`;
  const times = cost === own ? '' : `   mean: ${ratio(mean.task, own.mean.task)}`;
  console.log(`${name.padEnd(38)} ${figures}   at ${count(perSecond)}/s${times}`);
}
