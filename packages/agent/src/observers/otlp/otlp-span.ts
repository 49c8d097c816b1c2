import type {
  Attributes,
  Context,
  HrTime,
  SpanContext,
  SpanOptions,
  SpanStatus,
} from '@opentelemetry/api';
import { parentIn } from '../otel-context.ts';
import type { SpanTracer, TracedSpan } from '../otel-span.ts';
import type { RunSpanIds } from '../run-span-ids.ts';
import type { FinishedSpan, SpanEvent } from './finished-span.ts';

const sampled = 1;
/** Of one span: a run of days must not grow without end. */
const maxEvents = 128;

/** Starts spans that are given away at their end. What a trace's beginner does not want kept is not. */
export function otlpTracer(ids: RunSpanIds, give: (span: FinishedSpan) => void): SpanTracer {
  return {
    startSpan: (name, options, context) => new OtlpSpan(name, options, { ids, give, context }),
  };
}

interface Making {
  readonly ids: RunSpanIds;
  readonly give: (span: FinishedSpan) => void;
  readonly context: Context | undefined;
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

  constructor(name: string, options: SpanOptions, { ids, give, context }: Making) {
    this.#name = name;
    this.#kind = options.kind ?? 0;
    this.#startMs = toMs(options.startTime as HrTime);
    this.#attributes = { ...options.attributes };
    this.#parent = parentIn(context);
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
