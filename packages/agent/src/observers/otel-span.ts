import type {
  Attributes,
  Context,
  HrTime,
  Span,
  SpanKind,
  SpanStatusCode,
  Tracer,
} from '@opentelemetry/api';
import { contextOf } from './otel-context.ts';

// By their numbers: the API that names them need not be installed.
const kinds: { readonly internal: SpanKind; readonly client: SpanKind } = {
  internal: 0,
  client: 2,
};
const failed: SpanStatusCode = 2;
const noTrace = /^0*$/;

export interface SpanStart {
  readonly name: string;
  readonly kind?: 'internal' | 'client';
  readonly attributes: Attributes;
  readonly timeMs: number;
  readonly parent: TimedSpan | undefined;
}

/** What all spans of an observer are made with. */
export interface SpanMaker {
  readonly tracer: Tracer;
  /** What spans without a parent are under; absent: whatever is active when they start. */
  readonly context?: Context | undefined;
}

/** A span whose times are those of records. */
export class TimedSpan {
  readonly #span: Span;
  readonly #startMs: number;

  constructor({ tracer, context }: SpanMaker, start: SpanStart) {
    const { name, kind = 'internal', attributes, timeMs, parent } = start;
    this.#startMs = timeMs;
    const options = { kind: kinds[kind], attributes, startTime: toHrTime(timeMs) };
    if (parent === undefined) this.#span = tracer.startSpan(name, options, context);
    // Of what is not traced the parts are not either; under such a parent they would begin traces.
    else if (noTrace.test(parent.#span.spanContext().traceId)) this.#span = parent.#span;
    else this.#span = tracer.startSpan(name, options, contextOf(parent.#span, context));
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
