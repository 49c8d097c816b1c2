import type { MathToken } from '@millrace/markdown';
import { useLayoutEffect, useRef, useState } from 'react';
import { mathExtra } from './extras.ts';
import type { CodeNode } from './tree/markdown-node.ts';

type MathViewProps = Pick<MathToken, 'text' | 'source' | 'isDisplay'>;

/**
 * Shows a formula. If the formula is not valid, or if the code that draws formulas cannot load, it
 * shows the source.
 */
export function MathView({ text, source, isDisplay }: MathViewProps) {
  const place = useRef<HTMLSpanElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  useLayoutEffect(() => {
    const render = mathExtra.loaded;
    if (render === undefined) return;
    return drawings.add(text.length, () => {
      if (place.current !== null) setDrawn(render(text, place.current, isDisplay));
    });
  }, [text, isDisplay]);
  return (
    <span className="math" data-display={isDisplay || undefined}>
      <span ref={place} hidden={!isDrawn} />
      {!isDrawn && <code>{source}</code>}
    </span>
  );
}

/** Maximum length of the formulas that are drawn at once. */
const maxDrawnLength = 4096;

/**
 * Draws formulas in the order in which they appear. If there are many, the rest is drawn later, so that the
 * page still reacts to the user.
 */
class DrawQueue {
  #left = maxDrawnLength;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting = new Map<object, { readonly length: number; readonly draw: () => void }>();

  /** Draws a formula now or later. The returned function cancels a drawing that waits. */
  add(length: number, draw: () => void): () => void {
    const key = {};
    if (this.#left > 0 && this.#waiting.size === 0) this.#draw(length, draw);
    else this.#waiting.set(key, { length, draw });
    this.#timer ??= setTimeout(() => this.#continue());
    return () => void this.#waiting.delete(key);
  }

  #draw(length: number, draw: () => void): void {
    this.#left -= length;
    draw();
  }

  #continue(): void {
    this.#timer = undefined;
    this.#left = maxDrawnLength;
    for (const [key, { length, draw }] of this.#waiting) {
      if (this.#left <= 0) break;
      this.#waiting.delete(key);
      this.#draw(length, draw);
    }
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#continue());
  }
}

const drawings = new DrawQueue();

/** Shows a formula that has its own lines in the source. */
export function MathBlock({ node: { pieces } }: { readonly node: CodeNode }) {
  const text = [...pieces].join('');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: users scroll a wide formula with the keyboard
    <div className="math-block" tabIndex={0}>
      <MathView text={text} source={text} isDisplay />
    </div>
  );
}
