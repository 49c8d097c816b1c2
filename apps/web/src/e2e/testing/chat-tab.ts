import type { Locator, Page } from 'playwright-core';

/** The functions that the watcher script adds to each page. */
interface Watched {
  lastCount(): number;
}

/**
 * Finds the button "Allow" when it can be pressed. While Playwright waits for a disabled button, it scrolls the page,
 * and the page accepts no press of a button that has just moved.
 */
export const enabledAllow = { name: 'Allow', exact: true, disabled: false } as const;

/** A browser tab with the page, and the actions of a user. */
export class ChatTab {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  get message(): Locator {
    return this.page.getByRole('textbox', { name: 'Message' });
  }

  get stop(): Locator {
    return this.page.getByRole('button', { name: 'Stop', exact: true });
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

  /** Waits until the tab shows a task and returns its path. */
  async taskPath(): Promise<string> {
    await this.page.waitForURL('**/app/tasks/*');
    return new URL(this.page.url()).pathname;
  }

  /** Returns the number of the last word that the model counted on the page. */
  lastCount(): Promise<number> {
    return this.page.evaluate(() => (globalThis as unknown as Watched).lastCount());
  }

  /**
   * Waits until the page shows at least this many counted words. Returns the number of the last
   * word.
   */
  async waitForCount(minimum: number): Promise<number> {
    const hasCount = (count: number) => (globalThis as unknown as Watched).lastCount() >= count;
    await this.page.waitForFunction(hasCount, minimum);
    return this.lastCount();
  }

  /** Waits until the last answer contains the text. */
  async waitForText(text: string): Promise<void> {
    // Playwright ignores the case of a text, but not of a pattern.
    const pattern = new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
    await this.answer.getByText(pattern).waitFor();
  }

  /**
   * Unfolds reasoning or a tool card if it is folded. Parts that the page showed while they
   * streamed are already unfolded.
   */
  async unfold(name: RegExp): Promise<void> {
    const head = this.page.getByRole('button', { name });
    if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
  }

  /** Presses Tab, or Shift+Tab, until the element with this name has the focus. */
  async tabTo(name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    for (let presses = 0; presses < 100; presses++) {
      const at = await this.page.evaluate<string>(
        "document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? ''",
      );
      if (at === name) return;
      await this.page.keyboard.press(key);
    }
    throw new Error(`${key} does not reach ${name}`);
  }

  /** Waits until the records are loaded and the scrubber is enabled. */
  async waitForScrubber(): Promise<void> {
    await this.page.locator('[role=slider][aria-disabled=false]').waitFor();
  }

  /** Drags the scrubber to a position, given as a fraction of the session. */
  async dragTo(share: number): Promise<void> {
    await this.waitForScrubber();
    const box = await this.slider.boundingBox();
    if (box === null) throw new Error('The scrubber is not visible');
    const y = box.y + box.height / 2;
    await this.page.mouse.move(box.x + box.width - 2, y);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + box.width * share, y, { steps: 5 });
    await this.page.mouse.up();
  }

  /** Moves record by record until the word with this number is the last one on the page. */
  async stepTo(word: number): Promise<void> {
    await this.slider.focus();
    for (let at = await this.lastCount(); at !== word; at = await this.lastCount())
      await this.slider.press(at < word ? 'ArrowRight' : 'ArrowLeft');
  }
}
