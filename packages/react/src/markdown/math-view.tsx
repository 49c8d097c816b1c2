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
    return drawSoon(text.length, () => {
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

/** Maximum length of all formulas that are drawn before the page reacts to the user again. */
const maxPerTurn = 4096;
/** A short formula counts as this many characters, because each formula needs elements of its own. */
const minLength = 50;
let left = maxPerTurn;
let isResetPlanned = false;
const waiting = new Set<{ readonly length: number; readonly draw: () => void }>();

/**
 * Draws a formula now, or in a later turn of the event loop if many formulas come at once. Otherwise a text
 * with thousands of formulas would block the page. The returned function cancels the drawing.
 */
function drawSoon(length: number, draw: () => void): () => void {
  const job = { length: Math.max(minLength, length), draw };
  waiting.add(job);
  drawWaiting();
  return () => void waiting.delete(job);
}

function drawWaiting(): void {
  for (const job of waiting) {
    if (left <= 0) break;
    left -= job.length;
    waiting.delete(job);
    job.draw();
  }
  if (isResetPlanned || (left === maxPerTurn && waiting.size === 0)) return;
  isResetPlanned = true;
  setTimeout(() => {
    isResetPlanned = false;
    left = maxPerTurn;
    drawWaiting();
  });
}

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
