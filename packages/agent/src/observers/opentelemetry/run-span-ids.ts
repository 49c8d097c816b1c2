/** Ids of a span, before there is one. */
export interface SpanName {
  /** Where it has no parent. */
  readonly traceId: string;
  readonly spanId: string;
}

const byCrypto = (bytes: Uint8Array<ArrayBuffer>): Uint8Array => crypto.getRandomValues(bytes);

/**
 * What OpenTelemetry's SDK takes as `idGenerator`: the spans of runs get the ids that requests and tools
 * were given, all others random ones. One for the tracer and the observer that uses it.
 *
 * @example
 * const ids = new RunSpanIds();
 * const provider = new BasicTracerProvider({ idGenerator: ids, spanProcessors });
 * const { observe } = openTelemetryObserver({ tracer: provider.getTracer('my-app'), ids });
 */
export class RunSpanIds {
  readonly #fill: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
  #next: SpanName | undefined;

  constructor(fill: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array = byCrypto) {
    this.#fill = fill;
  }

  // As fields, because the SDK may take them off the object.
  readonly generateTraceId = (): string => this.#next?.traceId ?? this.#random(16);
  readonly generateSpanId = (): string => this.#next?.spanId ?? this.#random(8);

  /** The span that is started meanwhile is called this. */
  naming<T>(name: SpanName, start: () => T): T {
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
    // All zeros is no id.
    return /^0+$/.test(digits) ? digits.replace(/0$/, '1') : digits;
  }
}
