// Measures the page in Chromium, with a server in this process: what 1,000 deltas cost the main thread at
// the start and at the end of a long answer, what a long session weighs, and what the first load takes.

import { createAgent } from '@millrace/agent';
import type { DeltaWriter } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type ServedAgent } from '@millrace/server';
import { type Browser, type CDPSession, chromium } from 'playwright-core';
import { builtPage } from '../e2e/testing/built-page.ts';
import { chromiumPath } from '../e2e/testing/needs-chromium.ts';

const deltas = 20_000;
const pauseMs = 1;
const items = 5_000;
/** A server takes only so many messages in one answer. */
const atOnce = 1_000;

type Metrics = Readonly<Record<string, number>>;

async function metricsOf(session: CDPSession): Promise<Metrics> {
  const { metrics } = await session.send('Performance.getMetrics');
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

/** Who hears when a word was said. */
let onWord: (count: number) => void = () => {};

function* words(writer: DeltaWriter): Generator<void> {
  const text = writer.text();
  for (let count = 1; count <= deltas; count++) {
    text.append(`word${count}${count % 40 === 0 ? '.\n\n' : ' '}`);
    onWord(count);
    yield;
  }
  text.commit();
  yield;
}

const log = memoryLog();
const script = Array.from({ length: 10 }, () => ({ content: { write: words } }));
const speaker: ServedAgent = {
  ...{ type: 'loop', name: 'speaker', description: 'Speaks long' },
  agent: createAgent({ provider: scriptedProvider(script, { pauseMs }), log }),
};
let said = 0;
const many: ServedAgent = {
  ...{ type: 'sync', name: 'many', description: 'Says much' },
  async *onMessage() {
    for (let index = 0; index < atOnce; index++) {
      const content = `**${said++}** says *something* with \`code\`, and then a little more of it.\n\n- one\n- two`;
      yield { type: 'full', index, content: { type: 'text', author: 'agent', content } };
    }
  },
};
const server = createServer({ agents: [speaker, many], log, page: builtPage() });
const { url } = await server.listen({ port: 0 });

async function rpc(
  agent: string,
  method: string,
  params: object,
): Promise<{ readonly id: string }> {
  const response = await fetch(`${url}/agents/name/${agent}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ method, params }),
  });
  return ((await response.json()) as { readonly result: { readonly id: string } }).result;
}

async function newTask(agent: string): Promise<string> {
  return (await rpc(agent, 'task/create', {})).id;
}

async function say(agent: string, task_id: string): Promise<void> {
  const content = { type: 'text', author: 'user', content: 'Go' };
  await rpc(agent, 'message/send', { task_id, content });
}

async function opened(browser: Browser) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  return { page, session };
}

async function firstLoad(browser: Browser): Promise<void> {
  const { page, session } = await opened(browser);
  await session.send('Network.enable');
  const sizes = new Map<string, number>();
  const types = new Map<string, string>();
  session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const type = types.get(requestId) ?? 'Other';
    sizes.set(type, (sizes.get(type) ?? 0) + encodedDataLength);
  });
  await page.goto(url);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.waitForLoadState('networkidle');
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  console.log(`first load: ${total} bytes transferred`, Object.fromEntries(sizes));
  await page.close();
}

async function longAnswer(browser: Browser): Promise<void> {
  const { page, session } = await opened(browser);
  const task = await newTask('speaker');
  await page.goto(`${url}/app/tasks/${task}`);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  const marks = [1, 1000, deltas - 1000, deltas];
  const read = new Map<number, Promise<Metrics>>();
  onWord = (count) => {
    if (marks.includes(count)) read.set(count, metricsOf(session));
  };
  const from = performance.now();
  await say('speaker', task);
  const perSecond = Math.round(deltas / ((performance.now() - from) / 1000));
  const [a, b, c, d] = await Promise.all(marks.map((mark) => read.get(mark)));
  const cost = (before: Metrics | undefined, after: Metrics | undefined, name: string) =>
    Math.round(1000 * ((after?.[name] ?? 0) - (before?.[name] ?? 0)));
  for (const [label, before, after] of [
    ['the first 1,000', a, b],
    [`the 1,000 up to the ${deltas.toLocaleString('en')}th`, c, d],
  ] as const) {
    const parts = ['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'];
    const told = parts.map((name) => `${name} ${cost(before, after, name)} ms`).join(', ');
    console.log(`main thread, ${label} deltas at ${perSecond} a second: ${told}`);
  }
  await page.close();
}

async function longSession(browser: Browser): Promise<void> {
  const task = await newTask('many');
  while (said < items) await say('many', task);
  const { page, session } = await opened(browser);
  const from = performance.now();
  await page.goto(`${url}/app/tasks/${task}`);
  await page.getByText(`${items - 1} says`).waitFor();
  const shownMs = Math.round(performance.now() - from);
  await session.send('HeapProfiler.collectGarbage');
  const { JSHeapUsedSize = 0 } = await metricsOf(session);
  const elements = await page.evaluate<number>("document.querySelectorAll('*').length");
  const heap = (JSHeapUsedSize / 1e6).toFixed(1);
  console.log(`${items} items: shown after ${shownMs} ms, ${elements} elements, heap ${heap} MB`);
  const frames = await page.evaluate<readonly number[]>(scroll);
  const sorted = frames.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1);
  console.log(`scrolled through it: a frame takes ${at(0.5)} ms, 95 % ${at(0.95)}, worst ${at(1)}`);
  await page.close();
}

/** From the end up, half a screen a frame. */
const scroll = `new Promise((resolve) => {
  const list = document.querySelector('.transcript');
  list.dispatchEvent(new WheelEvent('wheel'));
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

const browser = await chromium.launch({
  executablePath: chromiumPath() ?? 'chromium',
  args: ['--no-sandbox'],
});
try {
  await firstLoad(browser);
  await longSession(browser);
  await longAnswer(browser);
} finally {
  await browser.close();
  await server.close();
}
