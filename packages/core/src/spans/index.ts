export {
  emptyOutline,
  foldOutline,
  type Outline,
  type OutlineOptions,
  type Segment,
} from './outline.ts';
export {
  durationMs,
  type Span,
  type SpanKind,
  type SpanNode,
  type SpanStatus,
  spanTree,
  statusOfStop,
  stopText,
} from './span.ts';
export { isContent, SpanFold, type SpanFoldOptions, spansOf } from './span-fold.ts';
