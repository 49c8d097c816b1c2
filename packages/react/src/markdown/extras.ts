import { createContext, useContext, useEffect, useLayoutEffect, useReducer, useState } from 'react';

/** Code that the page loads when a text needs it. So the page itself starts faster. */
export interface Extra<T> {
  /** Matches text that may need the code. */
  readonly pattern: RegExp;
  /** The code. Undefined until it is loaded. */
  loaded: T | undefined;
  /**
   * True if the code is loaded, or if loading failed or took too long. Texts then stop waiting for
   * the code.
   */
  isSettled: boolean;
  /**
   * Loads the code. Resolves when the code is loaded or texts stop waiting for it. It never
   * rejects.
   */
  settle(): Promise<void>;
  /**
   * Loads the code. Resolves when loading succeeded or failed, without a time limit. It never
   * rejects.
   */
  load(): Promise<void>;
}

/** Maximum time that a text waits until the code of an extra is loaded, in milliseconds. */
const maxWaitMs = 3000;

function createExtra<T>(pattern: RegExp, load: () => Promise<T>): Extra<T> {
  let loading: Promise<void> | undefined;
  const extra: Extra<T> = {
    ...{ pattern, loaded: undefined, isSettled: false },
    load() {
      // A failure is not an error: without the code, the page shows the content in a simpler form.
      loading ??= load().then(
        (code) => {
          extra.loaded = code;
          extra.isSettled = true;
        },
        () => {
          extra.isSettled = true;
        },
      );
      return loading;
    },
    async settle() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const timeout = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, maxWaitMs);
      });
      await Promise.race([extra.load(), timeout]);
      clearTimeout(timer);
      extra.isSettled = true;
    },
  };
  return extra;
}

/**
 * The code that draws formulas, with its fonts. The fonts load first, because a font that arrives
 * later would move the text.
 */
export const mathExtra = createExtra(/\$|\\[([]/g, async () => {
  const { renderMath, loadFonts } = await import('./render-math.ts');
  await loadFonts();
  return renderMath;
});

/** The code for HTML, pictures and code previews. */
export const richExtra = createExtra(
  /<\/?[a-z]|!\[|(?:```|~~~)[ \t]*(?:html|svg|mermaid|csv|tsv)\b/gi,
  () => import('./rich/index.ts'),
);

const allExtras: readonly Extra<unknown>[] = [mathExtra, richExtra];

/** Loads all optional code. Tests that render without a browser use this. */
export async function loadExtras(): Promise<void> {
  await Promise.all(allExtras.map((extra) => extra.load()));
}

/**
 * The number of characters before new text that are searched again. A pattern can start there and
 * end in the new text.
 */
const overlap = 16;

/**
 * Finds the first position at which a growing text needs code that is not loaded. It searches each
 * part of the text once.
 */
class TextGate {
  #searched = 0;
  #heldAt: number | undefined;
  #waiting: Extra<unknown> | undefined;

  /** Returns the part of the text that can be shown, and the code for which the rest waits. */
  read(text: string): { readonly shown: string; readonly waiting: Extra<unknown> | undefined } {
    if (text.length < this.#searched || this.#waiting?.isSettled) this.#restart(text);
    if (this.#heldAt === undefined) this.#search(text);
    const shown = this.#heldAt === undefined ? text : text.slice(0, this.#heldAt);
    return { shown, waiting: this.#waiting };
  }

  #restart(text: string): void {
    this.#searched = Math.min(this.#heldAt ?? 0, text.length);
    this.#heldAt = undefined;
    this.#waiting = undefined;
  }

  #search(text: string): void {
    const from = Math.max(0, this.#searched - overlap);
    for (const extra of allExtras) {
      if (extra.isSettled) continue;
      extra.pattern.lastIndex = from;
      const at = extra.pattern.exec(text)?.index;
      if (at === undefined || at >= (this.#heldAt ?? Number.POSITIVE_INFINITY)) continue;
      this.#heldAt = at;
      this.#waiting = extra;
    }
    this.#searched = text.length;
  }
}

/**
 * The function that keeps the texts around a text invisible until the code for the text is loaded. It
 * returns a function that ends this. Default: the start of a text is visible at once.
 */
export const HoldTexts = createContext<() => () => void>(() => () => {});

/**
 * Returns the start of a text that can be shown and will not move later. The rest waits until the
 * code for it is loaded. Otherwise a formula would change its size when there is already text below
 * it.
 */
export function useHeldText(text: string): string {
  const [gate] = useState(() => new TextGate());
  const [, render] = useReducer((count: number) => count + 1, 0);
  const { shown, waiting } = gate.read(text);
  const hold = useContext(HoldTexts);
  const isWaiting = waiting !== undefined;
  useLayoutEffect(() => (isWaiting ? hold() : undefined), [isWaiting, hold]);
  useEffect(() => {
    if (waiting === undefined) return;
    let isOver = false;
    void waiting.settle().then(() => !isOver && render());
    return () => {
      isOver = true;
    };
  }, [waiting]);
  return shown;
}
