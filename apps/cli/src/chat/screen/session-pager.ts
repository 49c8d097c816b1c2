import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { Key } from '../../input/keys/key.ts';
import type { Block } from '../contract/block.ts';
import { clipText, type Look, withTone } from '../render/look.ts';
import { Printer } from '../render/printer.ts';
import { pageAfter, pageBefore, readBlocks } from '../session/earlier-blocks.ts';

interface SessionPagerOptions {
  readonly log: Log;
  readonly session: SessionId;
  /** The offset of the last record that the pager shows. No content is open there. */
  readonly through: number;
  readonly look: () => Look;
  /** Returns the number of lines on the screen, including the last line with the keys. */
  readonly height: () => number;
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

/** A part of the session that the pager has read. */
interface Page {
  readonly start: number;
  readonly end: number;
  readonly blocks: readonly Block[];
}

/** Maximum number of pages in memory. The pages that are farthest from the screen are dropped. */
const maxPages = 48;

/**
 * Shows the whole session on the screen, and scrolls in it. It reads pages from the log when they come near the screen,
 * so its memory does not depend on the length of the session.
 */
export class SessionPager {
  readonly #options: SessionPagerOptions;
  #pages: readonly Page[] = [];
  /** The line at the top of the screen, among the lines of all pages. */
  #top = 0;
  /** True while the last line is shown. The pager then stays at the end while it reads more pages. */
  #isAtEnd = true;
  #isReading = false;
  #isClosed = false;
  readonly #lines = new WeakMap<Page, { readonly look: Look; readonly lines: readonly string[] }>();

  constructor(options: SessionPagerOptions) {
    this.#options = options;
    void this.#read();
  }

  /** Handles a key. Returns false if the key does not scroll. */
  press(key: Key): boolean {
    const text = this.#height - 1;
    const name = key.type === 'key' ? key.name : undefined;
    if (name === 'page_up') this.#scroll(-text);
    else if (name === 'page_down') this.#scroll(text);
    else if (name === 'up') this.#scroll(-1);
    else if (name === 'down') this.#scroll(1);
    else if (name === 'home') this.#jump(false);
    else if (name === 'end') this.#jump(true);
    else return false;
    return true;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Returns the lines of the screen. */
  draw(): readonly string[] {
    const { look, through } = this.#options;
    const lines = this.#allLines;
    const height = this.#height;
    const shown = lines.slice(this.#top, this.#top + height);
    const empty = Array.from({ length: height - shown.length }, () => '');
    const part = Math.round((100 * this.#offsetAt(this.#top + height)) / Math.max(1, through));
    const where = this.#isReading ? 'reading' : `${part}%`;
    const keys = `${where} · PageUp, PageDown, Home, End, Up, Down scroll · Esc closes`;
    return [...shown, ...empty, withTone(look(), 'dim', clipText(keys, look().width))];
  }

  get #height(): number {
    return Math.max(1, this.#options.height() - 1);
  }

  get #allLines(): readonly string[] {
    return this.#pages.flatMap((page) => this.#linesOf(page));
  }

  get #count(): number {
    return this.#pages.reduce((sum, page) => sum + this.#linesOf(page).length, 0);
  }

  #linesOf(page: Page): readonly string[] {
    const look = this.#options.look();
    const known = this.#lines.get(page);
    if (known?.look.width === look.width && known.look.theme === look.theme) return known.lines;
    const lines = ['', ...new Printer().print(look, page.blocks)];
    this.#lines.set(page, { look, lines });
    return lines;
  }

  /** Returns the offset of the end of the page that contains a line. */
  #offsetAt(line: number): number {
    let left = line;
    for (const page of this.#pages) {
      left -= this.#linesOf(page).length;
      if (left <= 0) return page.end;
    }
    return this.#pages.at(-1)?.end ?? 0;
  }

  #scroll(lines: number): void {
    this.#isAtEnd = false;
    this.#moveTo(this.#top + lines);
    void this.#read();
  }

  /** Shows the end or the start of the session. */
  #jump(isAtEnd: boolean): void {
    this.#isAtEnd = isAtEnd;
    const last = this.#pages.at(-1)?.end;
    const isThere = isAtEnd ? last === this.#options.through : this.#pages[0]?.start === 0;
    const at = isAtEnd ? this.#options.through : 0;
    if (!isThere) this.#pages = [{ start: at, end: at, blocks: [] }];
    this.#moveTo(isAtEnd ? this.#count : 0);
    void this.#read();
  }

  #moveTo(top: number): void {
    this.#top = Math.max(0, Math.min(top, this.#count - this.#height));
    this.#options.onChange();
  }

  /** Reads pages until there is a screen above and below the visible lines. Only one call reads at a time. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (!this.#isClosed && (await this.#readPage()));
    } catch (error) {
      this.#options.onError(error);
    }
    this.#isReading = false;
    if (!this.#isClosed) this.#moveTo(this.#isAtEnd ? this.#count : this.#top);
  }

  /** Reads a page if one is missing near the screen. Returns false if none is missing. */
  async #readPage(): Promise<boolean> {
    const { through } = this.#options;
    const before = this.#pages;
    const start = before[0]?.start ?? through;
    const end = before.at(-1)?.end ?? through;
    const height = this.#height;
    const isAbove = start > 0 && (this.#top < height || this.#count < 2 * height);
    const isBelow = end < through && this.#count - this.#top < 2 * height;
    if (!isAbove && !isBelow) return false;
    // A jump to the start reads below first, so that the first message is shown at once.
    const isUp = isAbove && !isBelow;
    const range = isUp
      ? { start: await pageBefore(this.#options, start), end: start }
      : { start: end, end: await pageAfter(this.#options, end, through) };
    const page: Page = { ...range, blocks: await readBlocks(this.#options, range) };
    // A key has jumped to another place in the meantime.
    if (this.#pages !== before) return true;
    this.#add(page, isUp);
    return true;
  }

  #add(page: Page, isUp: boolean): void {
    const all = isUp ? [page, ...this.#pages] : [...this.#pages, page];
    const dropped = isUp ? [] : all.slice(0, Math.max(0, all.length - maxPages));
    this.#pages = isUp ? all.slice(0, maxPages) : all.slice(dropped.length);
    const lines = (pages: readonly Page[]) =>
      pages.reduce((sum, one) => sum + this.#linesOf(one).length, 0);
    const moved = isUp ? lines([page]) : -lines(dropped);
    this.#moveTo(this.#isAtEnd ? this.#count : this.#top + moved);
  }
}
