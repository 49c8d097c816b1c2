import { type Clock, systemClock } from '@millrace/providers';
import { AgentError } from '../../contract/agent-error.ts';
import { assertKnownOptions } from '../../known-options.ts';
import { type FinishedSpan, otlpAttributes, otlpSpan, otlpTracer } from './otlp-span.ts';
import { RunSpanIds } from './run-span-ids.ts';
import type { SpanTracer } from './timed-span.ts';

/** Options of `otlpExporter`. */
export interface OtlpOptions {
  /**
   * The URL of the collector, such as `http://localhost:4318`. If it has no path, `/v1/traces` is
   * added.
   */
  readonly url: string | URL;
  /** Additional headers, for example an API key. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The `service.name` attribute. Default: `millrace`. */
  readonly serviceName?: string | undefined;
  /**
   * Maximum number of queued spans. If the queue is full, new spans are dropped and reported. Default: 4096.
   */
  readonly maxQueued?: number | undefined;
  /** Maximum number of spans per request. Default: 512. */
  readonly maxBatch?: number | undefined;
  /** The time for which the first span of a batch waits for more spans. Default: 1 s. */
  readonly everyMs?: number | undefined;
  /** Timeout of one request. Default: 10 s. */
  readonly timeoutMs?: number | undefined;
  /** The generator of span ids. Default: a new `RunSpanIds`. */
  readonly ids?: RunSpanIds | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** The clock of the exporter. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /**
   * Called for spans that were dropped, or that the collector refused. The text never contains content of the
   * session. Default: these problems are ignored.
   */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
}

/** A destination for spans. */
export interface SpanExporter {
  /** The tracer for `openTelemetryObserver`. Use it together with `ids`. */
  readonly tracer: SpanTracer;
  /** The generator of the tracer's span ids. */
  readonly ids: RunSpanIds;
  /** Sends a span that a different program or tracer created. */
  export(span: FinishedSpan): void;
}

/** A span exporter that sends OTLP/JSON. */
export interface OtlpExporter extends SpanExporter {
  /** Resolves when all spans exported before this call are sent or dropped. */
  flush(): Promise<void>;
  /** Sends the queued spans. The exporter accepts no further spans. */
  close(): Promise<void>;
}

/**
 * Creates an exporter that sends spans to a collector as OTLP/JSON over HTTP, without any OpenTelemetry
 * package. The exporter never blocks a run. It drops spans that it cannot send in time.
 *
 * @example
 * ```ts
 * const otlp = otlpExporter({ url: 'http://localhost:4318', serviceName: 'my-app' });
 * const { observe } = openTelemetryObserver(otlp);
 * ```
 */
export function otlpExporter(options: OtlpOptions): OtlpExporter {
  assertKnownOptions('otlpExporter', options, {
    ...{ url: true, headers: true, serviceName: true, maxQueued: true, maxBatch: true },
    ...{ everyMs: true, timeoutMs: true, ids: true, fetch: true, clock: true, onDiagnostic: true },
  });
  const url = tracesUrl(options.url);
  const { clock = systemClock, timeoutMs = 10_000, serviceName = 'millrace' } = options;
  const ask = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const resource = { attributes: otlpAttributes({ 'service.name': serviceName }) };
  const send = async (spans: readonly FinishedSpan[]): Promise<number> => {
    const scopeSpans = [{ scope: { name: 'millrace' }, spans: spans.map(otlpSpan) }];
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () =>
      late.abort(new Error('the collector did not respond in time')),
    );
    try {
      const response = await ask(url, {
        ...{ method: 'POST', redirect: 'manual', signal: late.signal },
        headers: { ...options.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }),
      });
      await response.body?.cancel();
      return response.status;
    } finally {
      cancel();
    }
  };
  const { maxQueued = 4096, maxBatch = 512, everyMs = 1000, onDiagnostic = () => {} } = options;
  const queue = new SpanQueue({ send, clock, maxQueued, maxBatch, everyMs, onDiagnostic });
  const { ids = new RunSpanIds() } = options;
  const give = (span: FinishedSpan) => queue.add(span);
  return {
    ...{ tracer: otlpTracer(ids, give), ids, export: give },
    flush: () => queue.flush(),
    close: () => queue.close(),
  };
}

function tracesUrl(given: string | URL): string {
  const url = URL.parse(String(given));
  // The message does not quote the URL, because the URL may contain a password.
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new AgentError(
      'bad_option',
      'Cannot send spans: url must be an HTTP URL such as http://localhost:4318',
    );
  if (url.pathname === '/' || url.pathname === '') url.pathname = '/v1/traces';
  return url.href;
}

interface SpanQueueOptions {
  /** Sends the spans and returns the HTTP status. */
  readonly send: (spans: readonly FinishedSpan[]) => Promise<number>;
  readonly clock: Clock;
  readonly maxQueued: number;
  readonly maxBatch: number;
  readonly everyMs: number;
  readonly onDiagnostic: (problem: string) => void;
}

/** Maximum number of attempts to send a batch. After that, the batch is dropped. */
const maxTries = 3;
/** HTTP statuses of a collector that is temporarily overloaded. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A bounded queue of spans. Sends one batch at a time, in order. */
class SpanQueue {
  readonly #options: SpanQueueOptions;
  #waiting: FinishedSpan[] = [];
  #dropped = 0;
  #cancelTimer: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  add(span: FinishedSpan): void {
    const { maxQueued, maxBatch, everyMs, clock } = this.#options;
    if (this.#isClosed || this.#waiting.length >= maxQueued) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= maxBatch) this.#begin();
    else this.#cancelTimer ??= clock.after(everyMs, () => this.#begin());
  }

  async flush(): Promise<void> {
    this.#begin();
    await this.#sending;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #begin(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    const { maxBatch, onDiagnostic } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, maxBatch);
      const problem = await this.#try(batch);
      // Spans stay counted as queued while a request sends them.
      this.#waiting = this.#waiting.slice(batch.length);
      if (problem !== undefined)
        onDiagnostic(`The collector did not take ${batch.length} spans: ${problem}`);
    }
    if (this.#dropped > 0) onDiagnostic(`${this.#dropped} spans were dropped: the queue was full`);
    this.#dropped = 0;
  }

  /** Sends a batch, with retries. Returns a description of the problem if all attempts failed. */
  async #try(batch: readonly FinishedSpan[]): Promise<string | undefined> {
    const { send, clock, everyMs } = this.#options;
    for (let tries = 1; ; tries++) {
      const status = await send(batch).catch(() => 0);
      if (status >= 200 && status < 300) return undefined;
      const why = status === 0 ? 'it cannot be reached' : `it responded with status ${status}`;
      const mayPass = status === 0 || passing.has(status);
      // `close` must not wait for a collector that is not available.
      if (!mayPass || tries === maxTries || this.#isClosed) return why;
      await new Promise<void>((resolve) => clock.after(everyMs * 2 ** (tries - 1), resolve));
    }
  }
}
