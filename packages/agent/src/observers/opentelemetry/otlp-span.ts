import type {
  Attributes,
  AttributeValue,
  HrTime,
  SpanContext,
  SpanOptions,
  SpanStatus,
  TraceContext,
} from '../../contract/telemetry.ts';
import type { RunSpanIds } from './run-span-ids.ts';
import { parentSpanOf, type SpanTracer, type TracedSpan } from './timed-span.ts';

const sampled = 1;
/** Maximum number of events per span. It bounds the size of the span if a run lasts for days. */
const maxEvents = 128;

/** Returns a tracer that passes its spans to `give` when they end. Spans of unsampled traces are dropped. */
export function otlpTracer(ids: RunSpanIds, give: (span: FinishedSpan) => void): SpanTracer {
  return {
    startSpan: (name, options, context) => new OtlpSpan(name, options, { ids, give, context }),
  };
}

interface SpanEnvironment {
  readonly ids: RunSpanIds;
  readonly give: (span: FinishedSpan) => void;
  readonly context: TraceContext | undefined;
}

class OtlpSpan implements TracedSpan {
  readonly #name: string;
  readonly #kind: number;
  readonly #startMs: number;
  readonly #parent: SpanContext | undefined;
  readonly #own: SpanContext;
  readonly #give: (span: FinishedSpan) => void;
  readonly #attributes: Attributes;
  readonly #events: SpanEvent[] = [];
  #status: SpanStatus | undefined;
  #isOver = false;

  constructor(name: string, options: SpanOptions, { ids, give, context }: SpanEnvironment) {
    this.#name = name;
    this.#kind = options.kind ?? 0;
    this.#startMs = toMs(options.startTime as HrTime);
    this.#attributes = { ...options.attributes };
    this.#parent = parentSpanOf(context);
    this.#give = give;
    this.#own = {
      traceId: this.#parent?.traceId ?? ids.generateTraceId(),
      spanId: ids.generateSpanId(),
      traceFlags: this.#parent?.traceFlags ?? sampled,
    };
  }

  spanContext(): SpanContext {
    return this.#own;
  }

  setAttribute(key: string, value: string): void {
    this.#attributes[key] = value;
  }

  setAttributes(attributes: Attributes): void {
    Object.assign(this.#attributes, attributes);
  }

  addEvent(name: string, attributes: Attributes, time: HrTime): void {
    if (this.#events.length < maxEvents)
      this.#events.push({ name, attributes, timeMs: toMs(time) });
  }

  setStatus(status: SpanStatus): void {
    this.#status = status;
  }

  end(end: HrTime): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { traceId, spanId, traceFlags } = this.#own;
    if ((traceFlags & sampled) === 0) return;
    this.#give({
      ...{ traceId, spanId, parentSpanId: this.#parent?.spanId, name: this.#name },
      ...{
        kind: this.#kind,
        startMs: this.#startMs,
        endMs: toMs(end),
        attributes: this.#attributes,
      },
      ...{ events: this.#events, status: this.#status },
    });
  }
}

function toMs([seconds, nanos]: HrTime): number {
  return seconds * 1000 + nanos / 1_000_000;
}

/** A span that has ended. The kinds and status codes use the numbers of OpenTelemetry's API. */
export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  /** The kind of the span: 0 internal, 1 server, 2 client. */
  readonly kind: number;
  /** The start of the span, in milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events?: readonly SpanEvent[] | undefined;
  /** The status of the span. `code`: 0 unset, 1 OK, 2 error. */
  readonly status?: { readonly code: number; readonly message?: string | undefined } | undefined;
}

interface SpanEvent {
  readonly name: string;
  readonly timeMs: number;
  readonly attributes: Attributes;
}

/**
 * Maximum length of a text, in characters. Longer texts are cut, because otherwise a collector could refuse
 * the whole batch.
 */
const maxTextLength = 32 * 1024;

/** Returns the span in OTLP's JSON encoding. */
export function otlpSpan(span: FinishedSpan): object {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, status } = span;
  return {
    ...{ traceId, spanId, ...(parentSpanId !== undefined && { parentSpanId }) },
    // In OTLP, the numbers of kinds start with 1, because 0 means unspecified.
    ...{ name, kind: kind + 1, flags: 1 },
    ...{ startTimeUnixNano: nanos(startMs), endTimeUnixNano: nanos(endMs) },
    attributes: otlpAttributes(attributes),
    events: (span.events ?? []).map((event) => ({
      ...{ timeUnixNano: nanos(event.timeMs), name: event.name },
      attributes: otlpAttributes(event.attributes),
    })),
    ...(status && { status }),
  };
}

export function otlpAttributes(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: otlpValue(value) }],
  );
}

function otlpValue(value: AttributeValue | null | undefined): object {
  if (typeof value === 'string')
    return { stringValue: value.slice(0, maxTextLength).toWellFormed() };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: (value ?? []).map((one) => otlpValue(one ?? '')) } };
}

/**
 * Returns the time in nanoseconds. The result is a string, because the number is larger than the safe
 * integers of JSON.
 */
function nanos(timeMs: number): string {
  return String(BigInt(Math.round(timeMs * 1000)) * 1000n);
}
