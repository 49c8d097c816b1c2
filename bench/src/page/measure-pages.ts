import type { Browser } from 'playwright-core';
import { type AnswerCost, AnswerMeter } from './answer-cost.ts';
import type { BuiltPages } from './built-pages.ts';
import { serveChunks } from './chunk-server.ts';
import { MeasuredTab } from './measured-tab.ts';
import { deltas, items } from './page-content.ts';
import { servePage } from './page-server.ts';

export interface PageSize {
  readonly firstLoadBytes: number;
  /** The time from the navigation until the last item is shown. */
  readonly openedMs: number;
  /** The same time for a session of three items. It shows the cost without a long session. */
  readonly emptyMs?: number | undefined;
  readonly elements: number;
  readonly heapMb: number;
  readonly scrollFrameMs: number;
}

let onWord: (count: number) => void = () => {};
const forwardWord = (count: number) => onWord(count);
const lastWord = `word${deltas}`;

async function measureAnswer(
  browser: Browser,
  url: string,
  start: (tab: MeasuredTab) => Promise<unknown>,
): Promise<AnswerCost> {
  await using tab = await MeasuredTab.open(browser);
  await tab.page.goto(url);
  await tab.page.getByRole('textbox', { name: 'Message' }).waitFor();
  const meter = new AnswerMeter(tab);
  onWord = meter.onWord;
  await start(tab);
  await meter.streamed;
  await tab.page.getByText(lastWord).waitFor();
  return await meter.cost();
}

const sendGo = async ({ page }: MeasuredTab) => {
  const message = page.getByRole('textbox', { name: 'Message' });
  await message.fill('Go');
  await message.press('Enter');
};

/** Measures Millrace's page on a Millrace server. */
export async function measureOurAnswer(
  browser: Browser,
  { ours }: BuiltPages,
): Promise<AnswerCost> {
  await using server = await servePage(ours, forwardWord);
  const task = await server.newSession();
  return await measureAnswer(browser, `${server.url}/app/tasks/${task}`, () => server.start(task));
}

/**
 * Measures useChat on the chat route of a Millrace server. The server merges the deltas of 20 ms,
 * as for Millrace's page.
 */
export async function measureUseChatAnswer(
  browser: Browser,
  { useChat }: BuiltPages,
  throttleMs: number | undefined,
): Promise<AnswerCost> {
  await using server = await servePage(useChat, forwardWord);
  const api = '/agents/name/speaker/chat';
  return await measureAnswer(browser, `${server.url}/?${query({ api, throttleMs })}`, sendGo);
}

/** Measures useChat with one chunk per delta, as the servers of the AI SDK send them. */
export async function measureChunkAnswer(
  browser: Browser,
  { useChat }: BuiltPages,
  throttleMs: number | undefined,
): Promise<AnswerCost> {
  await using server = await serveChunks(useChat, forwardWord);
  return await measureAnswer(
    browser,
    `${server.url}/?${query({ api: '/api/chat', throttleMs })}`,
    sendGo,
  );
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

async function measurePage(browser: Browser, url: string, last: string) {
  const times: number[] = [];
  for (let round = 0; round < 4; round++) {
    const { tab, ms } = await opened(browser, url, last);
    await tab.page.close();
    times.push(ms);
  }
  const { tab, ms } = await opened(browser, url, last);
  await using measured = tab;
  const openedMs = [...times, ms].toSorted((a, b) => a - b)[2] ?? ms;
  const [elements, heapMb] = [await measured.elements(), await measured.heapMb()];
  return { openedMs, elements, heapMb, scrollFrameMs: await measured.scrollFrameMs() };
}

export async function measureOurPage(browser: Browser, { ours }: BuiltPages): Promise<PageSize> {
  await using server = await servePage(ours, forwardWord);
  const firstLoadBytes = await firstLoad(browser, server.url);
  const at = (task: string) => `${server.url}/app/tasks/${task}`;
  const few = await measurePage(browser, at(await server.longSession(3)), '2 says');
  const size = await measurePage(browser, at(await server.longSession()), `${items - 1} says`);
  return { firstLoadBytes, emptyMs: few.openedMs, ...size };
}

export async function measureUseChatPage(
  browser: Browser,
  { useChat }: BuiltPages,
): Promise<PageSize> {
  await using server = await serveChunks(useChat, forwardWord);
  const firstLoadBytes = await firstLoad(browser, server.url);
  const size = await measurePage(
    browser,
    `${server.url}/?messages=/api/messages`,
    `**${items - 1}** says`,
  );
  return { firstLoadBytes, ...size };
}
