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
    if (render === undefined || place.current === null) return;
    setDrawn(render(text, place.current, isDisplay));
  }, [text, isDisplay]);
  return (
    <span className="math" data-display={isDisplay || undefined}>
      <span ref={place} hidden={!isDrawn} />
      {!isDrawn && <code>{source}</code>}
    </span>
  );
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
