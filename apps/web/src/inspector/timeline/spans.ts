import type { Client, SpanInfo } from '@millrace/client';
import { useEffect, useState } from 'react';
import type { Bar } from '../model/bar.ts';

const none: readonly Bar[] = [];

/**
 * Returns the spans that agents reported, as bars. They are fetched again when `version` changes.
 */
export function useSpans(client: Client, taskId: string, version: number): readonly Bar[] {
  const [bars, setBars] = useState(none);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version triggers a new request
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    client
      .task(taskId)
      .spans({ signal })
      .then((spans) => setBars(spans.length === 0 ? none : spanBars(spans)))
      // Spans are optional, so the timeline is shown without them.
      .catch(() => {});
    return () => controller.abort();
  }, [client, taskId, version]);
  return bars;
}

/** The maximum nesting level. Deeper spans are drawn at this level. */
const maxDepth = 6;

/** Converts spans to bars. Each bar comes after its parent. */
export function spanBars(spans: readonly SpanInfo[]): readonly Bar[] {
  const known = new Set(spans.map(({ id }) => id));
  const isRoot = ({ parent_id }: SpanInfo) => parent_id === null || !known.has(parent_id);
  const children = Map.groupBy(spans, ({ parent_id }) => parent_id);
  const bars: Bar[] = [];
  const visited = new Set<string>();
  const visit = (span: SpanInfo, depth: number): void => {
    // Reported spans can contain a cycle.
    if (visited.has(span.id)) return;
    visited.add(span.id);
    const bar = toBar(span, Math.min(depth, maxDepth));
    const parentSpanId = (depth === 0 && span.parent_id) || undefined;
    if (bar !== undefined) bars.push(parentSpanId === undefined ? bar : { ...bar, parentSpanId });
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
    ...{ firstContentAt: undefined, end: Number.isFinite(end) ? Math.max(start, end) : undefined },
    ...{ tone: 'plain', offset: undefined, endOffset: undefined, child: undefined },
  };
}

/**
 * Inserts spans below the run, turn, attempt or tool to which they belong. Spans without such a
 * parent come last.
 */
export function insertSpans(bars: readonly Bar[], spans: readonly Bar[]): readonly Bar[] {
  if (spans.length === 0) return bars;
  const known = new Set(bars.flatMap(({ spanId }) => spanId ?? []));
  const groups = Map.groupBy(withRoots(spans), ({ root }) =>
    root.parentSpanId !== undefined && known.has(root.parentSpanId) ? root.parentSpanId : undefined,
  );
  const spansUnder = (spanId: string | undefined, depth: number): readonly Bar[] =>
    (groups.get(spanId) ?? []).map(({ bar }) => ({ ...bar, depth: bar.depth + depth }));
  const placed = bars.flatMap((bar) =>
    bar.spanId === undefined ? [bar] : [bar, ...spansUnder(bar.spanId, bar.depth + 1)],
  );
  return [...placed, ...spansUnder(undefined, 0)];
}

/** Pairs each span with its root span. In the list, a root comes before its descendants. */
function withRoots(spans: readonly Bar[]): readonly { readonly bar: Bar; readonly root: Bar }[] {
  let root: Bar | undefined;
  return spans.map((bar) => {
    root = root === undefined || bar.depth === 0 ? bar : root;
    return { bar, root };
  });
}
