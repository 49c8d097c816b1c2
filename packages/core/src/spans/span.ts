import type { ExecutionId, RunId, SessionId, ToolCallId } from '../ids.ts';
import type { ErrorInfo, Stop } from '../protocol/stop.ts';
import { addUsage, noUsage, type Usage } from '../protocol/usage.ts';

/**
 * The kind of work that a span describes. `agent` is a call that runs a sub-agent, and `approval` is
 * the time in which a call waits for an answer.
 */
export type SpanKind = 'run' | 'turn' | 'attempt' | 'call' | 'agent' | 'approval' | 'retry';

/**
 * The outcome of the work of a span. `ok` is also the status of a span that is still open. `discarded`: the
 * result has no effect, for example because the attempt was superseded. `waiting`: the work waits for a
 * person or for a retry, or the run was parked to wait.
 */
export type SpanStatus = 'ok' | 'error' | 'discarded' | 'waiting';

/** A piece of work in a session, with its start and its end. Times are milliseconds since 1970. */
export interface Span {
  /** The id of the span. It is unique in its session, and the same in every fold of the log. */
  readonly id: string;
  /**
   * The parent span, which contains this span. Undefined if it is not known, or if the span has no parent.
   */
  readonly parentId: string | undefined;
  readonly kind: SpanKind;
  /** The name that people see: the model of an attempt, the tool of a call, or for example `Turn 3`. */
  readonly name: string;
  /** A second line that people see, for example the summary of a call or the reason of a stop. */
  readonly detail: string | undefined;
  readonly status: SpanStatus;
  readonly startTime: number;
  /** The time at which the work ended. Undefined while the work continues. */
  readonly endTime: number | undefined;
  /** The time at which the first content arrived: the first token of an attempt. */
  readonly firstContentTime: number | undefined;
  /** The time at which the message that caused the run was queued. Only runs have this field. */
  readonly queuedTime: number | undefined;
  /** The offset of the first record. */
  readonly offset: number;
  /** The offset of the last record. Undefined while the work continues. */
  readonly endOffset: number | undefined;
  /** The turn of the first record. It is 0 outside of any turn. */
  readonly turn: number;
  /** The attempt of the first record. It is 0 if the span does not belong to one attempt. */
  readonly attempt: number;
  /** True if the span started before the first folded record. Its real start is earlier. */
  readonly isCut: boolean;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  /** The version of the agent that sent the request of the attempt. Undefined if the agent has no version. */
  readonly version: string | undefined;
  /** The tokens and costs of the attempt. Only the last report counts. */
  readonly usage: Usage | undefined;
  readonly stop: Stop | undefined;
  readonly error: ErrorInfo | undefined;
  readonly runId: RunId | undefined;
  readonly toolCallId: ToolCallId | undefined;
  readonly executionId: ExecutionId | undefined;
  /** The session of the sub-agent that the call runs. */
  readonly child: SessionId | undefined;
  /** The id of the span in traces. Undefined if the run belongs to no trace. */
  readonly traceSpanId: string | undefined;
  /** The id of the trace of a run. Undefined if the run belongs to no trace. */
  readonly traceId: string | undefined;
}

/** Returns how long the work took. A span that is still open lasts until `now`. */
export function durationMs({ startTime, endTime }: Span, now: number): number {
  return Math.max(0, (endTime ?? now) - startTime);
}

/** Returns the status of work that ended with this stop. */
export function statusOfStop({ reason }: Stop): SpanStatus {
  switch (reason) {
    case 'error':
    case 'content_filter':
    case 'refusal':
    case 'blocked':
    case 'limit':
    case 'length':
      return 'error';
    case 'aborted':
      return 'discarded';
    case 'parked':
    case 'pause':
      return 'waiting';
    case 'stop':
    case 'tool_use':
    case 'unknown':
      return 'ok';
  }
}

/** Returns the reason of a stop as text. It includes the provider's own term if that term differs. */
export function stopText({ reason, raw, cause }: Stop): string {
  const more = [raw, cause].filter((word) => word !== undefined && word !== reason);
  return more.length === 0 ? reason : `${reason} (${more.join(', ')})`;
}

/** A span with its children, and the total usage of all of them. */
export interface SpanNode {
  readonly span: Span;
  /** The number of ancestors of the span. */
  readonly depth: number;
  readonly children: readonly SpanNode[];
  /** The usage of the span and of all spans below it. Undefined if no usage was reported. */
  readonly usage: Usage | undefined;
  /** True if the span or a span below it has the status `error`. */
  readonly hasError: boolean;
}

/**
 * Returns spans as trees, in the order of their start. A span whose parent is not in the list is a
 * root.
 */
export function spanTree(spans: readonly Span[]): readonly SpanNode[] {
  const known = new Set(spans.map(({ id }) => id));
  const children = new Map<string | undefined, Span[]>();
  for (const span of spans) {
    const { parentId } = span;
    const parent = parentId !== undefined && known.has(parentId) ? parentId : undefined;
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [span]);
    else siblings.push(span);
  }
  const nodeOf = (span: Span, depth: number): SpanNode => {
    const below = (children.get(span.id) ?? []).map((child) => nodeOf(child, depth + 1));
    const usages = [span.usage, ...below.map(({ usage }) => usage)].filter(
      (one) => one !== undefined,
    );
    return {
      ...{ span, depth, children: below },
      usage: usages.length === 0 ? undefined : usages.reduce(addUsage, noUsage),
      hasError: span.status === 'error' || below.some(({ hasError }) => hasError),
    };
  };
  return (children.get(undefined) ?? []).map((root) => nodeOf(root, 0));
}
