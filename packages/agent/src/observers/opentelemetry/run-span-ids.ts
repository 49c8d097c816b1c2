import type { NewBytes } from '@millrace/core';

/** The ids for a span that is about to start. */
export interface SpanIds {
  /** The id of the trace. It is used only if the span has no parent. */
  readonly traceId: string;
  readonly spanId: string;
}

const byCrypto = (bytes: NewBytes): Uint8Array => crypto.getRandomValues(bytes);

/**
 * An `idGenerator` for OpenTelemetry's SDK. Spans of runs get the ids that requests and tools received as
 * their parent. All other spans get random ids. Use one object for the tracer provider and the observer.
 *
 * @example
 * ```ts
 * const ids = new RunSpanIds();
 * const provider = new BasicTracerProvider({ idGenerator: ids, spanProcessors });
 * const { observe } = openTelemetryObserver({ tracer: provider.getTracer('my-app'), ids });
 * ```
 */
export class RunSpanIds {
  readonly #fill: (bytes: NewBytes) => Uint8Array;
  #next: SpanIds | undefined;

  constructor(fill: (bytes: NewBytes) => Uint8Array = byCrypto) {
    this.#fill = fill;
  }

  // `generateTraceId` and `generateSpanId` are fields and not methods, because the SDK may call them
  // without `this`.
  /** Returns the trace id of the next span. */
  readonly generateTraceId = (): string => this.#next?.traceId ?? this.#random(16);
  /** Returns the id of the next span. */
  readonly generateSpanId = (): string => this.#next?.spanId ?? this.#random(8);

  /** Calls `start`. The span that `start` creates gets these ids. */
  withIds<T>(name: SpanIds, start: () => T): T {
    this.#next = name;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }

  #random(length: number): string {
    const digits = Array.from(this.#fill(new Uint8Array(length)), (byte) =>
      byte.toString(16).padStart(2, '0'),
    ).join('');
    // An id that consists of zeros is invalid in OpenTelemetry.
    return /^0+$/.test(digits) ? digits.replace(/0$/, '1') : digits;
  }
}
