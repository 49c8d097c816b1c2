import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { patientMs } from '../../../../../packages/core/src/testing/runs.ts';
import { ChatTab } from './chat-tab.ts';

/**
 * The script that watches each page. It records violations of the content security policy. It also
 * checks after each change of an answer that the counted words are in order.
 */
const watcher = `
globalThis.refused = [];
globalThis.disorders = [];
const wordsOf = (item) => item?.textContent.match(/w\\d+/g) ?? [];
const answers = () => [...document.querySelectorAll('article[data-kind=assistant]')];
globalThis.lastCount = () => Number(wordsOf(answers().at(-1)).at(-1)?.slice(1) ?? 0);
document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
  globalThis.refused.push([violatedDirective, blockedURI, sample].join(' ')));
const changed = new Set();
const look = () => {
  const all = [...changed];
  changed.clear();
  for (const words of all.map(wordsOf)) {
    const odd = words.findIndex((word, at) => word !== 'w' + (at + 1));
    if (odd >= 0) globalThis.disorders.push(words.slice(Math.max(0, odd - 3), odd + 3).join(' '));
  }
};
const isAnswer = 'article[data-kind=assistant]';
const note = (node) => {
  const element = node.nodeType === 1 ? node : node.parentElement;
  const answer = element?.closest(isAnswer);
  if (answer) changed.add(answer);
  return element;
};
new MutationObserver((changes) => {
  const isDue = changed.size > 0;
  for (const { target, addedNodes } of changes) {
    note(target);
    for (const node of addedNodes)
      for (const answer of note(node)?.querySelectorAll(isAnswer) ?? []) changed.add(answer);
  }
  if (!isDue && changed.size > 0) requestAnimationFrame(look);
}).observe(document, { childList: true, characterData: true, subtree: true });
`;

/** A browser context that records everything that a page is not allowed to do. */
export class WatchedBrowser {
  readonly context: BrowserContext;
  readonly faults: string[] = [];
  readonly #url: string;

  private constructor(context: BrowserContext, url: string) {
    this.context = context;
    this.#url = url;
  }

  static async open(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = {},
  ): Promise<WatchedBrowser> {
    const context = await browser.newContext({ baseURL: url, ...options });
    // All waits are limited. So a hanging test fails with the name of the missing element.
    context.setDefaultTimeout(patientMs(20_000));
    const watched = new WatchedBrowser(context, url);
    await context.addInitScript(watcher);
    context.on('page', (page) => watched.#watch(page));
    await context.route(
      (to) => to.origin !== new URL(url).origin && to.protocol !== 'blob:',
      (route) => {
        watched.faults.push(`asked for ${route.request().url()}`);
        return route.abort();
      },
    );
    return watched;
  }

  async tab(path = '/'): Promise<ChatTab> {
    const page = await this.context.newPage();
    await page.goto(path);
    return new ChatTab(page);
  }

  /** Returns all faults of all pages. */
  async allFaults(): Promise<readonly string[]> {
    const reports = await Promise.all(
      this.context.pages().map((page) =>
        page.evaluate<string[]>(
          `[
            ...globalThis.refused.map((one) => 'was refused ' + one),
            ...globalThis.disorders.map((one) => 'showed ' + one),
            ...(globalThis.ran === undefined ? [] : ['ran a script: ' + globalThis.ran]),
          ]`,
        ),
      ),
    );
    return [...this.faults, ...reports.flat()];
  }

  close(): Promise<void> {
    return this.context.close();
  }

  #watch(page: Page): void {
    page.on('dialog', (dialog) => {
      this.faults.push(`opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('pageerror', (error) => this.faults.push(`threw ${error.message}`));
    page.on('popup', (popup) => this.faults.push(`opened ${popup.url()}`));
    page.on('framenavigated', (frame) => {
      const { origin } = new URL(frame.url(), this.#url);
      const isHere = frame.url() === 'about:blank' || origin === new URL(this.#url).origin;
      if (!isHere) this.faults.push(`went to ${frame.url()}`);
    });
  }
}
