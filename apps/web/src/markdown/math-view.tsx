import type { MathToken } from '@millrace/markdown';
import { useEffect, useRef, useState } from 'react';
import type { CodeNode } from './markdown-node.ts';

type Render = typeof import('./render-math.ts').renderMath;

type MathViewProps = Pick<MathToken, 'text' | 'source' | 'isDisplay'>;

/**
 * Shows a formula. The source is shown until the code that draws formulas is loaded, and if the
 * formula is not valid.
 */
export function MathView({ text, source, isDisplay }: MathViewProps) {
  const render = useRender();
  const place = useRef<HTMLSpanElement>(null);
  const [isDrawn, setDrawn] = useState(false);
  useEffect(() => {
    if (render === undefined || place.current === null) return;
    setDrawn(render(text, place.current, isDisplay));
  }, [render, text, isDisplay]);
  return (
    <span className="math" data-display={isDisplay || undefined}>
      <span ref={place} hidden={!isDrawn} />
      {!isDrawn && <code>{source}</code>}
    </span>
  );
}

/** Shows a formula that has lines of its own in the source. */
export function MathBlock({ node: { pieces } }: { readonly node: CodeNode }) {
  const text = [...pieces].join('');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: users scroll a wide formula with the keyboard
    <div className="math-block" tabIndex={0}>
      <MathView text={text} source={text} isDisplay />
    </div>
  );
}

let loaded: Render | undefined;

/** Returns the function that draws formulas, or undefined until it is loaded. */
function useRender(): Render | undefined {
  const [render, setRender] = useState(() => loaded);
  useEffect(() => {
    if (loaded !== undefined) return;
    let isOver = false;
    void import('./render-math.ts')
      .then(({ renderMath }) => {
        loaded = renderMath;
        if (!isOver) setRender(() => renderMath);
      })
      // The source of a formula is still readable.
      .catch(() => {});
    return () => {
      isOver = true;
    };
  }, []);
  return render;
}
