import type { Element, Window } from 'happy-dom';

/**
 * What is visible on the screen. The test decides whether the end of the content of a card is visible, and where
 * the cards and their buttons are. At first, they are at the top of the screen, and nothing covers them.
 */
export class TestScreen {
  #isEndVisible: boolean;
  #top = 0;
  #isCovered = false;
  readonly #observers = new Set<() => void>();

  constructor(window: Window, isEndVisible = true) {
    this.#isEndVisible = isEndVisible;
    const screen = this;
    const Observer = class {
      #report = () => {};
      readonly #callback: (entries: readonly object[]) => void;
      constructor(callback: (entries: readonly object[]) => void) {
        this.#callback = callback;
      }
      observe(element: Element): void {
        this.#report = () => {
          const isShown =
            element.className === 'approval-end' ? screen.#isEndVisible : screen.#isShown;
          this.#callback([{ isIntersecting: isShown, intersectionRatio: isShown ? 1 : 0 }]);
        };
        screen.#observers.add(this.#report);
        queueMicrotask(() => screen.#observers.has(this.#report) && this.#report());
      }
      disconnect(): void {
        screen.#observers.delete(this.#report);
      }
    };
    Object.defineProperty(window, 'IntersectionObserver', { value: Observer });
    window.Element.prototype.getBoundingClientRect = function (this: Element) {
      const top = this.className === 'approval-end' ? screen.#top + endAt : screen.#top;
      return new window.DOMRect(0, top, cardSize.width, cardSize.height);
    };
    const { document } = window;
    document.elementFromPoint = (_x: number, y: number) => {
      if (screen.#isCovered) return document.body;
      const isEnd = y > screen.#top + cardSize.height;
      return document.querySelector(isEnd ? '.approval-scroll' : '.approval-bar');
    };
  }

  get #isShown(): boolean {
    return this.#top >= 0;
  }

  moveEnd(isEndVisible: boolean): void {
    this.#isEndVisible = isEndVisible;
    this.#report();
  }

  /** Moves the cards. `reportsAtOnce` is false if the browser has not yet told the page about it. */
  moveCards(top: number, reportsAtOnce: boolean): void {
    this.#top = top;
    if (reportsAtOnce) this.#report();
  }

  /** Draws another element above the cards. */
  cover(isCovered: boolean): void {
    this.#isCovered = isCovered;
  }

  #report(): void {
    for (const report of this.#observers) report();
  }
}

/** A time that is longer than the pause before a card accepts an answer. */
export const armingMs = 5000;

const cardSize = { width: 300, height: 100 };

/** The distance of the end of the content from the top of the card. */
const endAt = 200;
