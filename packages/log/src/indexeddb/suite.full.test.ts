import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  chromiumPath,
  describeInChromium,
  sharedChromium,
} from '../../../../apps/web/src/e2e/testing/needs-chromium.ts';
import { bundleForWeb } from '../../../../scripts/runtimes/bundle-for-web.ts';
import { runs } from '../../../core/src/testing/runs.ts';
import { type LogSubject, logCases } from '../suite/index.ts';

type Browser = Awaited<ReturnType<typeof sharedChromium>>;
type BrowserContext = Awaited<ReturnType<Browser['newContext']>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

const describe = describeInChromium();
/** The names of the cases. The page has the cases themselves. */
const names = logCases({ isDurable: true } as LogSubject).map(({ name }) => name);
const seed = Number(process.env['SEED'] ?? 1);
/** Each run needs hundreds of transactions. */
const numRuns = runs(60);

let code = '';
let browser: Browser | undefined;
let context: BrowserContext | undefined;

/** Opens a tab of the site. */
async function openTab(site = context): Promise<Page> {
  const page = await site?.newPage();
  if (page === undefined) throw new Error('the browser is not open');
  await page.goto('http://localhost/');
  await page.addScriptTag({ type: 'module', content: code });
  await page.waitForFunction('globalThis.page !== undefined');
  return page;
}

/** Calls a function of the page, as the program in testing/programs exports it. */
function call<T>(tab: Page, name: string, ...args: readonly unknown[]): Promise<T> {
  return tab.evaluate<T>(`globalThis.page.${name}(...${JSON.stringify(args)})`);
}

/** A browser profile with an empty storage. */
async function newSite(started: Browser): Promise<BrowserContext> {
  const site = await started.newContext();
  const html = { contentType: 'text/html', body: '<!doctype html><title>Log</title>' };
  await site.route('http://localhost/', (route) => route.fulfill(html));
  return site;
}

beforeAll(async () => {
  if (chromiumPath() === undefined) return;
  const bundle = await bundleForWeb(
    join(import.meta.dirname, '../testing/programs/indexeddb-suite.ts'),
  );
  expect(bundle.nodeImports).toEqual([]);
  ({ code } = bundle);
  browser = await sharedChromium();
  context = await newSite(browser);
});

afterAll(() => context?.close());

describe('the IndexedDB log passes the conformance suite', () => {
  let tab: Page | undefined;
  beforeAll(async () => {
    tab = await openTab();
    expect(await tab.evaluate('globalThis.page.names')).toEqual(names);
  });
  test.each(names)('%s', async (name) => {
    if (tab !== undefined) await call(tab, 'run', name);
  });
});

describe('the IndexedDB log', () => {
  test('laws 1, 3, 4, 5 and 9: two logs behave like the reference in random runs', async () => {
    const outcomes = await call(await openTab(), 'model', numRuns, seed);
    expect(outcomes).toEqual(expect.arrayContaining(['append: done', 'reopen: done']));
  });

  test.each([
    ['deltas are kept', false, false],
    ['turns are settled', true, false],
    ['another log writes', true, true],
  ])(
    'law 5: a reader that stops at any batch and resumes ends with the same state, where %s',
    async (_, isSettled, isSplit) => {
      await call(await openTab(), 'resume', isSettled, isSplit, numRuns, seed);
    },
  );
});

describe('the storage of the site', () => {
  test('reports that it is full, and works again with more room', async () => {
    // What the other tests left would count, so this one has a profile of its own.
    const site = browser && (await newSite(browser));
    const tab = await openTab(site);
    const control = await site?.newCDPSession(tab);
    const origin = 'http://localhost';
    await control?.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 });
    expect(await call(tab, 'fill')).toMatch(/^storage_full: .*the storage of this site is full/);
    await control?.send('Storage.overrideQuotaForOrigin', { origin });
    expect(await call(tab, 'fill')).toBe('stored');
    await site?.close();
  });

  test('loses blobs that nothing references after a day', async () => {
    expect(await call(await openTab(), 'vacuum')).toEqual([1, 1, 0]);
  });
});

describe('several tabs', () => {
  const bothOpen = async () => {
    const [one, other] = [await openTab(), await openTab()];
    for (const tab of [one, other]) await call(tab, 'openLog');
    return [one, other] as const;
  };

  test('share a session: one drives it, the other follows, and a takeover fences the first', async () => {
    const [one, other] = await bothOpen();
    expect(await call(one, 'drive', false)).toBe(1);
    await call(one, 'append', 'first');
    await call(other, 'follow');
    await call(one, 'append', 'second');
    await other.waitForFunction('globalThis.page.seen().length === 2');
    expect(await call(other, 'drive', false)).toBe('held');
    expect(await call(other, 'drive', true)).toBe(2);
    expect(await call(one, 'append', 'late')).toBe('fenced');
    expect(await call(other, 'append', 'third')).toBe(3);
    await other.waitForFunction('globalThis.page.seen().length === 3');
    await Promise.all([call(one, 'closeLog'), call(other, 'closeLog')]);
  });

  test('a session of a closed or reloaded tab is free at once', async () => {
    const [one, other] = await bothOpen();
    const first = await call<number>(one, 'drive', false);
    expect(first).toBeGreaterThan(0);
    expect(await call(other, 'drive', false)).toBe('held');
    await call(one, 'startRun');
    expect(await call(other, 'waiting')).toBe(0);
    await one.close();
    // The lease lasts a day, so only the lock of the closed tab can show that it ended.
    await other.waitForFunction('globalThis.page.waiting().then((count) => count === 1)');
    expect(await call(other, 'drive', false)).toBe(first + 1);
    await other.reload();
    await other.addScriptTag({ type: 'module', content: code });
    await other.waitForFunction('globalThis.page !== undefined');
    await call(other, 'openLog');
    await other.waitForFunction('globalThis.page.waiting().then((count) => count === 1)');
    expect(await call(other, 'drive', false)).toBe(first + 2);
    expect(await call(other, 'append', 'again')).toBeGreaterThan(0);
  });
});
