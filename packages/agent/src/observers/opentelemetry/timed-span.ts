import type { SessionId, TraceParent } from '@millrace/core';
import type {
  Attributes,
  HrTime,
  SpanContext,
  SpanOptions,
  SpanStatus,
  TraceContext,
} from '../../contract/telemetry.ts';
import type { RunSpanIds, SpanIds } from './run-span-ids.ts';

// These are the values of OpenTelemetry's enums. They are written as numbers, because `@opentelemetry/api`
// may not be installed.
const kinds = { internal: 0, client: 2 };
const failed = 2;
const noTrace = /^0*$/;

/** The methods of a span that the observer uses. Every OpenTelemetry span has them. */
export interface TracedSpan {
  /** Returns the ids of the span. */
  spanContext(): SpanContext;
  /** Sets one attribute. */
  setAttribute(key: string, value: string): unknown;
  /** Sets several attributes. */
  setAttributes(attributes: Attributes): unknown;
  /** Adds an event with this time. */
  addEvent(name: string, attributes: Attributes, time: HrTime): unknown;
  /** Sets the status. */
  setStatus(status: SpanStatus): unknown;
  /** Ends the span with this end time. */
  end(time: HrTime): void;
}

/** The method of a tracer that the observer uses. */
export interface SpanTracer {
  /** Starts a span. If the context contains a span, the new span is its child. */
  startSpan(name: string, options: SpanOptions, context?: TraceContext): TracedSpan;
}

export interface SpanStart {
  readonly name: string;
  readonly kind?: 'internal' | 'client';
  readonly attributes: Attributes;
  readonly timeMs: number;
  readonly parent: TimedSpan | undefined;
  /** The parent span in a different process. It is used if there is no local parent. */
  readonly remote?: TraceParent | undefined;
  /** The ids of the span, if they are computed from the run's id. */
  readonly ids?: SpanIds | undefined;
}

/** The values that are common to all spans of an observer. */
export interface SpanFactory {
  readonly tracer: SpanTracer;
  /** The parent context of root spans. Default: the context that is active when a root span starts. */
  readonly context?: TraceContext | undefined;
  /** The tracer's id generator. Set if spans must have the ids that were sent in request headers. */
  readonly ids?: RunSpanIds | undefined;
}

/** A span whose start and end times come from records. */
export class TimedSpan {
  readonly #span: TracedSpan;
  readonly #startMs: number;

  constructor({ tracer, context, ids }: SpanFactory, start: SpanStart) {
    const { name, kind = 'internal', attributes, timeMs, parent, remote, ids: spanIds } = start;
    this.#startMs = timeMs;
    const options = { kind: kinds[kind], attributes, startTime: toHrTime(timeMs) };
    const startIn = (under: TraceContext | undefined) => tracer.startSpan(name, options, under);
    const begin = (under: TraceContext | undefined) =>
      ids && spanIds ? ids.withIds(spanIds, () => startIn(under)) : startIn(under);
    if (parent === undefined) this.#span = begin(remote ? remoteContext(remote, context) : context);
    // If the parent span is not sampled, its children must not start separate traces.
    else if (noTrace.test(parent.#span.spanContext().traceId)) this.#span = parent.#span;
    else this.#span = begin(contextWithSpan(parent.#span, context));
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  note(name: string, attributes: Attributes, timeMs: number): void {
    this.#span.addEvent(name, attributes, toHrTime(timeMs));
  }

  fail(type: string, message?: string): void {
    this.#span.setAttribute('error.type', type);
    this.#span.setStatus({ code: failed, message: message ?? type });
  }

  end(timeMs: number): void {
    // The clocks of two writers may differ, but a span must not end before it starts.
    this.#span.end(toHrTime(Math.max(timeMs, this.#startMs)));
  }
}

/**
 * Converts a time to an `HrTime`. The SDK would read a small plain number as the time since the process
 * started.
 */
function toHrTime(timeMs: number): HrTime {
  const seconds = Math.floor(timeMs / 1000);
  return [seconds, Math.round((timeMs - seconds * 1000) * 1_000_000)];
}

export interface AttemptSpan {
  readonly turn: number;
  readonly attempt: number;
  readonly span: TimedSpan;
  readonly startMs: number;
  hasBegun: boolean;
  /** The time at which the attempt failed. Set until the log has the end of the attempt. */
  failedMs: number | undefined;
}

export interface ExecutionSpan {
  readonly turn: number;
  readonly span: TimedSpan;
  readonly child: SessionId | undefined;
}

/** The key under which all versions of the OpenTelemetry API store the span in a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN');

/** Returns a context in which new spans are children of the span. */
function contextWithSpan(
  span: { spanContext(): SpanContext },
  base: TraceContext | undefined,
): TraceContext {
  return (base ?? makeContext(new Map())).setValue(spanKey, span);
}

/** Returns a context in which new spans are children of a span in a different process. */
function remoteContext(
  { traceId, spanId, flags }: TraceParent,
  base: TraceContext | undefined,
): TraceContext {
  const remote = { traceId, spanId, traceFlags: flags, isRemote: true };
  return contextWithSpan({ spanContext: () => remote }, base);
}

/** Returns the span in a context. It is the parent of new spans. */
export function parentSpanOf(context: TraceContext | undefined): SpanContext | undefined {
  return (context?.getValue(spanKey) as { spanContext(): SpanContext } | undefined)?.spanContext();
}

/** Returns a minimal `TraceContext`, because `@opentelemetry/api` may not be installed. */
function makeContext(values: ReadonlyMap<symbol, unknown>): TraceContext {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => makeContext(new Map([...values, [key, value]])),
    deleteValue: (key) => makeContext(new Map([...values].filter(([known]) => known !== key))),
  };
}
