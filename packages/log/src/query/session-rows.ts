import type { FoldState, ItemId, ItemState, LogRecord, PartSlot } from '@millrace/core';
import { type Span, SpanFold } from '@millrace/core/spans';

/** A value that SQLite can store. */
export type SqlValue = string | number | null;

/** The names of the columns of `spans`, in the order of `spanRow`. */
export const spanColumns: readonly string[] = [
  ...['session', 'span', 'parent', 'kind', 'name', 'detail', 'status', 'started_at', 'ended_at'],
  ...['first_content_at', 'queued_at', 'first_offset', 'last_offset', 'turn', 'attempt'],
  ...['provider', 'model', 'input_tokens', 'output_tokens', 'cache_read_tokens'],
  ...['cache_write_tokens', 'reasoning_tokens', 'is_estimated', 'cost', 'currency'],
  ...['stop_reason', 'error_code', 'error_message', 'run_id', 'tool_call_id', 'child_session'],
  ...['trace_id', 'agent_version'],
];

/** Returns a span as a row. */
export function spanRow(session: string, span: Span): readonly SqlValue[] {
  const { usage, error } = span;
  const [cost] = usage?.costs ?? [];
  return [
    ...[session, span.id, span.parentId, span.kind, span.name, span.detail, span.status],
    ...[span.startTime, span.endTime, span.firstContentTime, span.queuedTime],
    ...[span.offset, span.endOffset, span.turn, span.attempt, span.provider, span.model],
    ...[usage?.input, usage?.output, usage?.cacheRead, usage?.cacheWrite, usage?.reasoning],
    usage && Number(usage.estimated),
    ...[cost && Number(cost.amount), cost?.currency, span.stop?.reason, error?.code],
    ...[error?.message, span.runId, span.toolCallId, span.child, span.traceId],
    span.version,
  ].map((value) => value ?? null);
}

/** The names of the columns of `items`, in the order of `itemRow`. */
export const itemColumns: readonly string[] = [
  ...['session', 'item', 'kind', 'author', 'turn', 'started_at', 'is_redacted', 'text'],
];

/** Maximum number of characters of an item's text. */
const maxTextLength = 1_000_000;

/** Returns an item as a row. */
export function itemRow(session: string, item: ItemState): readonly SqlValue[] {
  const { id, kind, author, turn, startedAt, redacted, parts } = item;
  const text = parts.map(textOf).join('\n').slice(0, maxTextLength).toWellFormed();
  return [
    ...[session, id, kind, author?.name ?? null, turn, startedAt ?? null],
    ...[Number(redacted), text],
  ];
}

function textOf({ part }: PartSlot): string {
  switch (part?.kind) {
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'tool_call':
      return `${part.name} ${part.arguments}`;
    case 'structured':
    case 'custom':
      return JSON.stringify(part.value);
    case 'file':
      return part.name;
    default:
      return '';
  }
}

/**
 * Collects the spans and the ids of items from the records of a session. A new collection can start at the
 * offset `resume` of an earlier one, because no work was open there.
 */
export class SessionCollector {
  #fold: SpanFold;
  /** The spans of earlier folds that have ended. */
  readonly #ended: Span[] = [];
  readonly #queued = new Set<string>();
  readonly #openItems = new Set<ItemId>();
  /** The ids of the items that started in the collected records. */
  readonly itemIds: Set<ItemId> = new Set();
  /** True if an item was redacted. Rows from earlier records can then contain the removed content. */
  hasRedaction = false;
  through: number;
  /** The last offset at which no work and no item was open, and no command was queued. */
  resume: number;

  constructor(after: number) {
    this.#fold = new SpanFold({ after });
    [this.through, this.resume] = [after, after];
  }

  add(record: LogRecord): void {
    this.#fold.add(record);
    this.through = record.offset;
    const { fact } = record;
    switch (fact?.type) {
      case 'item_started':
        this.itemIds.add(fact.itemId);
        this.#openItems.add(fact.itemId);
        return;
      case 'item_finished':
      case 'response_finished':
        this.#openItems.delete(fact.itemId);
        return;
      case 'item_redacted':
        this.hasRedaction = true;
        return;
      case 'command_queued':
        this.#queued.add(fact.key);
        return;
      case 'command_consumed':
        this.#queued.delete(fact.key);
        return;
      case 'run_finished':
        return this.#endFold();
      default:
        return;
    }
  }

  /** Returns all spans that were collected since the last call. */
  takeSpans(): readonly Span[] {
    return [...this.#ended.splice(0), ...this.#fold.spans];
  }

  /** Starts a new fold if no work is open. So the memory does not grow with the session. */
  #endFold(): void {
    const { spans } = this.#fold;
    const isOpen = spans.some(({ endTime }) => endTime === undefined);
    if (isOpen || this.#queued.size > 0 || this.#openItems.size > 0) return;
    this.#ended.push(...spans);
    this.#fold = new SpanFold({ after: this.through });
    this.resume = this.through;
  }
}

/**
 * Returns the items with these ids. They follow each other near the end of the session, because items are in
 * the order of their start. Newer items can come after them. An id without an item belongs to an attempt that
 * was superseded.
 */
export function lastItems({ items }: FoldState, ids: ReadonlySet<ItemId>): readonly ItemState[] {
  const found: ItemState[] = [];
  for (let link: typeof items | undefined = items; link !== undefined; link = link.before) {
    for (const item of link.chunk.toReversed()) {
      if (ids.has(item.id)) found.push(item);
      else if (found.length > 0) return found.reverse();
    }
  }
  return found.reverse();
}
