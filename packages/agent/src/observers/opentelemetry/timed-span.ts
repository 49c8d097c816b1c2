import type { SessionId, TraceParent } from '@millrace/core';
import type {
  Attributes,
  Context,
  HrTime,
  SpanContext,
  SpanKind,
  SpanOptions,
  SpanStatus,
  SpanStatusCode,
} from '@opentelemetry/api';
import type { RunSpanIds, SpanName } from './run-span-ids.ts';

// By their numbers: the API that names them need not be installed.
const kinds: { readonly internal: SpanKind; readonly client: SpanKind } = {
  internal: 0,
  client: 2,
};
const failed: SpanStatusCode = 2;
const noTrace = /^0*$/;

/** What is needed of a span: every one of OpenTelemetry is such a one. */
export interface TracedSpan {
  spanContext(): SpanContext;
  setAttribute(key: string, value: string): unknown;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes, time: HrTime): unknown;
  setStatus(status: SpanStatus): unknown;
  end(time: HrTime): void;
}

/** What is needed of a tracer. */
export interface SpanTracer {
  startSpan(name: string, options: SpanOptions, context?: Context): TracedSpan;
}

export interface SpanStart {
  readonly name: string;
  readonly kind?: 'internal' | 'client';
  readonly attributes: Attributes;
  readonly timeMs: number;
  readonly parent: TimedSpan | undefined;
  /** What it is under where it has no parent here. */
  readonly remote?: TraceParent | undefined;
  /** Its ids, where they follow from the run's. */
  readonly ids?: SpanName | undefined;
}

/** What all spans of an observer are made with. */
export interface SpanFactory {
  readonly tracer: SpanTracer;
  /** What spans without a parent are under; absent: whatever is active when they start. */
  readonly context?: Context | undefined;
  /** What the tracer takes ids from, where they are to be those that went out in headers. */
  readonly ids?: RunSpanIds | undefined;
}

/** A span whose times are those of records. */
export class TimedSpan {
  readonly #span: TracedSpan;
  readonly #startMs: number;

  constructor({ tracer, context, ids }: SpanFactory, start: SpanStart) {
    const { name, kind = 'internal', attributes, timeMs, parent, remote, ids: spanIds } = start;
    this.#startMs = timeMs;
    const options = { kind: kinds[kind], attributes, startTime: toHrTime(timeMs) };
    const startIn = (under: Context | undefined) => tracer.startSpan(name, options, under);
    const begin = (under: Context | undefined) =>
      ids && spanIds ? ids.naming(spanIds, () => startIn(under)) : startIn(under);
    if (parent === undefined) this.#span = begin(remote ? remoteContext(remote, context) : context);
    // Of what is not traced the parts are not either; under such a parent they would begin traces.
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
    // Clocks of two writers may differ, and no span is shorter than nothing.
    this.#span.end(toHrTime(Math.max(timeMs, this.#startMs)));
  }
}

/** Not as a number: the SDK takes a small one for the time since the process began. */
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
  /** When it failed, if somebody else has yet to say what becomes of it. */
  failedMs: number | undefined;
}

export interface ExecutionSpan {
  readonly turn: number;
  readonly span: TimedSpan;
  readonly child: SessionId | undefined;
}

/** Where every version of the OpenTelemetry API keeps the span of a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN');

/** The context in which what starts is a child of the span. */
export function contextWithSpan(
  span: { spanContext(): SpanContext },
  base: Context | undefined,
): Context {
  return (base ?? makeContext(new Map())).setValue(spanKey, span);
}

/** The same for a span of another process. */
export function remoteContext(
  { traceId, spanId, flags }: TraceParent,
  base: Context | undefined,
): Context {
  const remote = { traceId, spanId, traceFlags: flags, isRemote: true };
  return contextWithSpan({ spanContext: () => remote }, base);
}

/** Of the context that a span is started in. */
export function parentSpanOf(context: Context | undefined): SpanContext | undefined {
  return (context?.getValue(spanKey) as { spanContext(): SpanContext } | undefined)?.spanContext();
}

/** A context as the API makes them. Written here because the API need not be installed: the tracer is given. */
function makeContext(values: ReadonlyMap<symbol, unknown>): Context {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => makeContext(new Map([...values, [key, value]])),
    deleteValue: (key) => makeContext(new Map([...values].filter(([known]) => known !== key))),
  };
}
