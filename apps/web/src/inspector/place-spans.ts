import type { Bar } from './bar.ts';

/** Spans below the run, turn, attempt or tool that they are part of; those of none come last. */
export function placeSpans(bars: readonly Bar[], spans: readonly Bar[]): readonly Bar[] {
  if (spans.length === 0) return bars;
  const known = new Set(bars.flatMap(({ spanId }) => spanId ?? []));
  const groups = Map.groupBy(rooted(spans), ({ root }) =>
    root.under !== undefined && known.has(root.under) ? root.under : undefined,
  );
  const of = (spanId: string | undefined, depth: number): readonly Bar[] =>
    (groups.get(spanId) ?? []).map(({ bar }) => ({ ...bar, depth: bar.depth + depth }));
  const placed = bars.flatMap((bar) =>
    bar.spanId === undefined ? [bar] : [bar, ...of(bar.spanId, bar.depth + 1)],
  );
  return [...placed, ...of(undefined, 0)];
}

/** Each with the first of those that it lies in: they come after it. */
function rooted(spans: readonly Bar[]): readonly { readonly bar: Bar; readonly root: Bar }[] {
  let root: Bar | undefined;
  return spans.map((bar) => {
    root = root === undefined || bar.depth === 0 ? bar : root;
    return { bar, root };
  });
}
