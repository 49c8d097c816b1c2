import type { Browser } from 'playwright-core';
import type { BuiltPages } from './built-pages.ts';
import { serveChunks } from './chunk-server.ts';
import { type AnswerCost, AnswerWatch } from './long-answer.ts';
import { MeasuredTab } from './measured-tab.ts';
import { servePage } from './page-server.ts';
import { deltas, items } from './page-words.ts';

export interface Weight {
  readonly firstLoadBytes: number;
  /** From going there to the last item being shown. */
  readonly openedMs: number;
  /** The same for a session of three items: what is not the session's. */
  readonly emptyMs?: number | undefined;
  readonly elements: number;
  readonly heapMb: number;
  readonly scrollFrameMs: number;
}

let onWord: (count: number) => void = () => {};
const heard = (count: number) => onWord(count);
const lastWord = `word${deltas}`;

async function watched(
  browser: Browser,
  url: string,
  start: (tab: MeasuredTab) => Promise<unknown>,
): Promise<AnswerCost> {
  await using tab = await MeasuredTab.open(browser);
  await tab.page.goto(url);
  await tab.page.getByRole('textbox', { name: 'Message' }).waitFor();
  const watch = new AnswerWatch(tab);
  onWord = watch.onWord;
  await start(tab);
  await watch.said;
  await tab.page.getByText(lastWord).waitFor();
  return await watch.cost();
}

const sayGo = async ({ page }: MeasuredTab) => {
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('Go');
  await message.press('Enter');
};

/** Our page, on our server. */
export async function ourAnswer(browser: Browser, { ours }: BuiltPages): Promise<AnswerCost> {
  await using server = await servePage(ours, heard);
  const task = await server.newSession();
  return await watched(browser, `${server.url}/app/tasks/${task}`, () => server.say(task));
}

/** useChat on our server's chat route, which puts the deltas of 20 ms together for it as for our page. */
export async function hookAnswer(
  browser: Browser,
  { useChat }: BuiltPages,
  throttleMs: number | undefined,
): Promise<AnswerCost> {
  await using server = await servePage(useChat, heard);
  const api = '/agents/name/speaker/chat';
  return await watched(browser, `${server.url}/?${query({ api, throttleMs })}`, sayGo);
}

/** useChat with a chunk a delta, as its own servers have it. */
export async function chunkAnswer(
  browser: Browser,
  { useChat }: BuiltPages,
  throttleMs: number | undefined,
): Promise<AnswerCost> {
  await using server = await serveChunks(useChat, heard);
  return await watched(browser, `${server.url}/?${query({ api: '/api/chat', throttleMs })}`, sayGo);
}

function query({
  api,
  throttleMs,
}: {
  readonly api: string;
  readonly throttleMs?: number | undefined;
}) {
  const throttle = throttleMs === undefined ? '' : `&throttle=${throttleMs}`;
  return `api=${encodeURIComponent(api)}&id=bench${throttle}`;
}

async function opened(browser: Browser, url: string, last: string) {
  const tab = await MeasuredTab.open(browser);
  const from = performance.now();
  await tab.page.goto(url, { waitUntil: 'commit' });
  await tab.page.getByText(last).waitFor();
  return { tab, ms: performance.now() - from };
}

async function firstLoad(browser: Browser, url: string): Promise<number> {
  await using tab = await MeasuredTab.open(browser);
  return await tab.bytesOf(() => tab.page.goto(url));
}

async function weighed(browser: Browser, url: string, last: string) {
  const tries: number[] = [];
  for (let round = 0; round < 4; round++) {
    const { tab, ms } = await opened(browser, url, last);
    await tab.page.close();
    tries.push(ms);
  }
  const { tab, ms } = await opened(browser, url, last);
  await using weighing = tab;
  const openedMs = [...tries, ms].toSorted((a, b) => a - b)[2] ?? ms;
  const [elements, heapMb] = [await weighing.elements(), await weighing.heapMb()];
  return { openedMs, elements, heapMb, scrollFrameMs: await weighing.scrollFrameMs() };
}

export async function ourWeight(browser: Browser, { ours }: BuiltPages): Promise<Weight> {
  await using server = await servePage(ours, heard);
  const firstLoadBytes = await firstLoad(browser, server.url);
  const at = (task: string) => `${server.url}/app/tasks/${task}`;
  const few = await weighed(browser, at(await server.longSession(3)), '2 says');
  const weight = await weighed(browser, at(await server.longSession()), `${items - 1} says`);
  return { firstLoadBytes, emptyMs: few.openedMs, ...weight };
}

export async function hookWeight(browser: Browser, { useChat }: BuiltPages): Promise<Weight> {
  await using server = await serveChunks(useChat, heard);
  const firstLoadBytes = await firstLoad(browser, server.url);
  const weight = await weighed(browser, `${server.url}/?said=/api/said`, `**${items - 1}** says`);
  return { firstLoadBytes, ...weight };
}
