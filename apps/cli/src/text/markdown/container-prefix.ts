import { cellWidth } from '../cells/cell-width.ts';
import type { Line, Span } from '../cells/span.ts';
import { plain } from '../theme/style.ts';
import type { Theme } from '../theme/theme.ts';
import type { Container } from './block.ts';

/** What stands before the rows of a block. */
export interface Prefix {
  readonly first: Line;
  readonly rest: Line;
  readonly width: number;
}

/**
 * It takes at most half of the room: the outermost containers are not shown if it would be more.
 * `box` is put in the place of the bullet of the innermost item.
 */
export function prefixOf(
  within: readonly Container[],
  theme: Theme,
  width: number,
  box?: string,
): Prefix {
  const markers = within.map((container, depth) =>
    markerOf(
      container,
      within.slice(0, depth),
      theme,
      depth === within.length - 1 ? box : undefined,
    ),
  );
  let used = markers.reduce((sum, { text }) => sum + cellWidth(text), 0);
  while (used * 2 > width) {
    used -= cellWidth(markers.shift()?.text ?? '');
  }
  const shown = within.slice(within.length - markers.length);
  const isShown = (depth: number) => shown[depth]?.kind !== 'item' || opens(shown[depth]);
  const blank = (span: Span): Span => ({ text: ' '.repeat(cellWidth(span.text)), style: plain });
  return {
    first: markers.map((span, depth) => (isShown(depth) ? span : blank(span))),
    rest: markers.map((span, depth) => (shown[depth]?.kind === 'quote' ? span : blank(span))),
    width: used,
  };
}

function opens(container: Container | undefined): boolean {
  return container?.kind === 'item' && container.opens;
}

function markerOf(
  container: Container,
  around: readonly Container[],
  { symbols, styles }: Theme,
  box: string | undefined,
): Span {
  if (container.kind === 'quote') return { text: `${symbols.quote} `, style: styles.muted };
  const depth = around.filter(({ kind }) => kind === 'item').length;
  const bullet = symbols.bullets[Math.min(depth, symbols.bullets.length - 1)];
  const marker = container.number ?? (box === undefined ? bullet : '');
  const parts = [marker, box].filter((part) => part !== undefined && part !== '');
  return { text: `${parts.join(' ')} `, style: styles.marker };
}
