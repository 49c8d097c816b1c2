import type { Locator, Page } from 'playwright-core';

/** What the watcher of each page adds to it. */
interface Watched {
  lastCount(): number;
}

/** A tab with the page, as somebody uses it. */
export class ChatTab {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  get message(): Locator {
    return this.page.getByRole('textbox', { name: 'Message' });
  }

  get stop(): Locator {
    return this.page.getByRole('button', { name: 'Stop' });
  }

  get transcript(): Locator {
    return this.page.getByRole('region', { name: 'Conversation' });
  }

  get answer(): Locator {
    return this.page.locator('article[data-kind=assistant]').last();
  }

  get slider(): Locator {
    return this.page.getByRole('slider', { name: 'Moment of the session' });
  }

  async send(text: string): Promise<void> {
    await this.message.fill(text);
    await this.message.press('Enter');
  }

  /** Until it is at a task, whose path it says. */
  async taskPath(): Promise<string> {
    await this.page.waitForURL('**/app/tasks/*');
    return new URL(this.page.url()).pathname;
  }

  /** Of the words that are lastCount, the last one that is shown. */
  lastCount(): Promise<number> {
    return this.page.evaluate(() => (globalThis as unknown as Watched).lastCount());
  }

  /** Until so many words are shown, and which is the last then. */
  async waitForCount(least: number): Promise<number> {
    const isThere = (count: number) => (globalThis as unknown as Watched).lastCount() >= count;
    await this.page.waitForFunction(isThere, least);
    return this.lastCount();
  }

  /** Until it says that, as the last thing. */
  async waitForText(text: string): Promise<void> {
    await this.answer.getByText(text).waitFor();
  }

  /** Unfolds a thought or a tool that is folded. What streamed when it was first seen is not. */
  async unfold(name: RegExp): Promise<void> {
    const head = this.page.getByRole('button', { name });
    if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
  }

  /** Presses Tab until what is called that has the focus. */
  async tabTo(name: string): Promise<void> {
    for (let presses = 0; presses < 100; presses++) {
      const at = await this.page.evaluate<string>(
        "document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? ''",
      );
      if (at === name) return;
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not lead to ${name}`);
  }

  /** Until the records are there to go along. */
  async waitForScrubber(): Promise<void> {
    await this.page.locator('[role=slider][aria-disabled=false]').waitFor();
  }

  /** Drags the scrubber to a share of the session. */
  async dragTo(share: number): Promise<void> {
    await this.waitForScrubber();
    const box = await this.slider.boundingBox();
    if (box === null) throw new Error('There is no scrubber to be seen');
    const y = box.y + box.height / 2;
    await this.page.mouse.move(box.x + box.width - 2, y);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width * share, y, { steps: 5 });
    await this.page.mouse.up();
  }

  /** Goes record by record to where that word is the last one. */
  async stepTo(word: number): Promise<void> {
    await this.slider.focus();
    for (let at = await this.lastCount(); at !== word; at = await this.lastCount())
      await this.slider.press(at < word ? 'ArrowRight' : 'ArrowLeft');
  }
}
