import {
  countingIds,
  DeltaWriter,
  type DraftRecord,
  type Ids,
  noUsage,
  runId,
  sessionId,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { createServer } from '@millrace/server';
import { chromium } from 'playwright-core';
import { builtPage } from '../../../apps/web/src/e2e/testing/built-page.ts';
import { chromiumPath } from '../../../apps/web/src/e2e/testing/needs-chromium.ts';
import { userMessage } from '../../../packages/server/src/testing/recorded-run.ts';
import { MeasuredTab } from './measured-tab.ts';

const rounds = 7;
/** A run has a message of the user and an answer. */
const itemsPerRun = 2;

/**
 * Measures how long the page needs until it shows where two sessions differ, compared with the page without
 * a session. Both sessions have the same number of items, and differ from their middle on.
 */
export async function compareDiffOpening(): Promise<void> {
  const path = chromiumPath();
  if (path === undefined)
    return console.log(
      '\nThe comparison of two sessions: skipped, because Chromium is not installed',
    );
  const log = memoryLog();
  const sizes = [10, 5000];
  for (const items of sizes) await writePair(log, items);
  const server = createServer({ tokens: 'none', agents: [], log, page: builtPage() });
  const { url } = await server.listen({ port: 0 });
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
  try {
    const open = async (to: string, shown: string) => {
      await using tab = await MeasuredTab.open(browser);
      tab.page.setDefaultTimeout(60_000);
      await tab.page.addInitScript(watchFor(shown));
      await tab.page.goto(`${url}${to}`, { waitUntil: 'commit' });
      // The server runs in this process and can be busy, so the page itself measures the time.
      const ms = await tab.page.evaluate<number>('globalThis.shown');
      await tab.page.waitForLoadState('networkidle');
      return { ms, elements: await tab.elements(), ...(await tab.smoothness()) };
    };
    const measure = async (name: string, to: string, shown: string) => {
      const times: Awaited<ReturnType<typeof open>>[] = [];
      for (let round = 0; round < rounds; round++) times.push(await open(to, shown));
      const middle = times.toSorted((a, b) => a.ms - b.ms)[Math.floor(rounds / 2)];
      console.log(
        name.padEnd(48),
        ...[middle?.ms, middle?.longestMs, middle?.elements].map((value) =>
          Math.round(value ?? 0)
            .toString()
            .padStart(12),
        ),
      );
      return middle?.ms ?? 0;
    };
    console.log('\nThe page shows the place at which two sessions differ, median of 7');
    console.log(
      ''.padEnd(48),
      ...['ms', 'longest task', 'elements'].map((one) => one.padStart(12)),
    );
    const bare = await measure('the page without a session', '/', 'main');
    for (const items of sizes) {
      const name = `sessions of ${items.toLocaleString('en')} items`;
      const ms = await measure(
        name,
        `/app/tasks/branch-${items}/diff`,
        '.diff-first .diff-headline',
      );
      console.log(`  ${Math.round(ms - bare)} ms more than the page without a session`);
    }
  } finally {
    await browser.close();
    await server.close();
    await log.close();
  }
}

/** Stores the time from the start of the navigation until the first frame with an element. */
const watchFor = (selector: string) => `globalThis.shown = new Promise((resolve) => {
  const observer = new MutationObserver(() => {
    if (document.querySelector(${JSON.stringify(selector)}) === null) return;
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now()));
  });
  observer.observe(document, { childList: true, subtree: true });
})`;

/** Stores a session and a branch of its first half. */
async function writePair(log: Log, items: number): Promise<void> {
  const ids = countingIds();
  const runs = items / itemsPerRun;
  const [name, branch] = [`long-${items}`, `branch-${items}`];
  const driver = await log.open(sessionId(name));
  const half = Math.floor(runs / 2);
  for (let run = 0; run < half; run++) await driver.append(shortRun(ids, run, 'sunny'));
  const { through = 0 } = (await log.info(name)) ?? {};
  await log.fork(name, { into: branch, through });
  for (let run = half; run < runs; run++) await driver.append(shortRun(ids, run, 'sunny'));
  await driver.release();
  const other = await log.open(sessionId(branch));
  for (let run = half; run < runs; run++) await other.append(shortRun(ids, run, 'rainy'));
  await other.release();
}

/** Returns the records of a question and its answer, which arrives in ten pieces. */
function shortRun(ids: Ids, run: number, weather: string): readonly DraftRecord[] {
  const id = runId(`run-${run}`);
  const [input, at] = [
    { turn: 0, attempt: 0 },
    { turn: run + 1, attempt: 1 },
  ];
  const itemId = ids.item();
  const writer = new DeltaWriter({ itemId, ...at, ids });
  const text = writer.text();
  const words = `Until the evening, the weather in city ${run} is ${weather}. `.repeat(4);
  for (const word of words.match(/.{1,24}/g) ?? []) text.append(word);
  text.commit();
  const stop = { reason: 'stop' } as const;
  return [
    ...userMessage(ids, `What is the weather in city ${run}?`),
    { ...input, fact: { type: 'run_started', runId: id } },
    { ...at, attempt: 0, fact: { type: 'turn_started' } },
    { ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } },
    { ...at, fact: { type: 'response_started', itemId, provider: 'scripted', model: 'weather' } },
    ...writer.take().map((delta) => ({ ...at, delta })),
    { ...at, fact: { type: 'response_finished', itemId, stop, usage: noUsage } },
    { ...at, attempt: 0, fact: { type: 'turn_finished', itemId, stop } },
    { ...input, fact: { type: 'run_finished', runId: id, stop } },
  ];
}
