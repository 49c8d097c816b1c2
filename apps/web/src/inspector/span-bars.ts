import type { SpanInfo } from '@millrace/client';
import type { Bar } from './bar.ts';

/** Deeper ones are drawn as if they lay here. */
const maxDepth = 6;

/** What agents themselves say they did, each after the span that it lies in. */
export function spanBars(spans: readonly SpanInfo[]): readonly Bar[] {
  const known = new Set(spans.map(({ id }) => id));
  const isRoot = ({ parent_id }: SpanInfo) => parent_id === null || !known.has(parent_id);
  const children = Map.groupBy(spans, ({ parent_id }) => parent_id);
  const bars: Bar[] = [];
  const seen = new Set<string>();
  const visit = (span: SpanInfo, depth: number): void => {
    // Whoever writes spans may name a circle.
    if (seen.has(span.id)) return;
    seen.add(span.id);
    const bar = toBar(span, Math.min(depth, maxDepth));
    const under = (depth === 0 && span.parent_id) || undefined;
    if (bar !== undefined) bars.push(under === undefined ? bar : { ...bar, under });
    for (const child of byStart(children.get(span.id) ?? [])) visit(child, depth + 1);
  };
  for (const root of byStart(spans.filter(isRoot))) visit(root, 0);
  return bars;
}

function byStart(spans: readonly SpanInfo[]): readonly SpanInfo[] {
  return spans.toSorted((a, b) => Date.parse(a.start_time) - Date.parse(b.start_time));
}

function toBar({ id, name, start_time, end_time }: SpanInfo, depth: number): Bar | undefined {
  const start = Date.parse(start_time);
  if (!Number.isFinite(start)) return undefined;
  const end = end_time === null ? Number.NaN : Date.parse(end_time);
  return {
    ...{ key: `span ${id}`, kind: 'span', depth, label: name, detail: undefined, start },
    ...{ first: undefined, end: Number.isFinite(end) ? Math.max(start, end) : undefined },
    ...{ tone: 'plain', offset: undefined, endOffset: undefined, child: undefined },
  };
}
