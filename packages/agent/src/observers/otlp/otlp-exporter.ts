import { type Clock, systemClock } from '@millrace/providers';
import { AgentError } from '../../errors/agent-error.ts';
import type { SpanTracer } from '../otel-span.ts';
import { RunSpanIds } from '../run-span-ids.ts';
import { type FinishedSpan, otlpAttributes, otlpSpan } from './finished-span.ts';
import { otlpTracer } from './otlp-span.ts';
import { SpanQueue } from './span-queue.ts';

export interface OtlpOptions {
  /** Of the collector: `http://localhost:4318`. Spans go to `/v1/traces` below it, unless it has a path. */
  readonly url: string | URL;
  /** Besides the content's type: a key of whoever collects, for instance. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly serviceName?: string | undefined;
  /** So many spans wait at most; what comes then is dropped, and said to be. */
  readonly maxQueued?: number | undefined;
  /** So many go in one request. */
  readonly maxBatch?: number | undefined;
  /** So long the first span of a batch waits for others. */
  readonly everyMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Where ids that follow from nothing come from; random unless told. */
  readonly ids?: RunSpanIds | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
  /** Hears of what was dropped or refused. Never content. */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
}

/** What takes spans. */
export interface SpanExporter {
  /** For `openTelemetryObserver`, together with `ids`. */
  readonly tracer: SpanTracer;
  readonly ids: RunSpanIds;
  /** Sends a span that was made otherwise. */
  export(span: FinishedSpan): void;
}

export interface OtlpExporter extends SpanExporter {
  /** Resolves when what was given so far is sent or dropped. */
  flush(): Promise<void>;
  /** The same, and takes no more. */
  close(): Promise<void>;
}

/**
 * Sends spans to a collector by OTLP, as JSON over HTTP, with no package of OpenTelemetry. It never
 * holds up whoever makes them: what cannot be sent in time is dropped.
 *
 * @example
 * const otlp = otlpExporter({ url: 'http://localhost:4318', serviceName: 'my-app' });
 * const { observe } = openTelemetryObserver(otlp);
 */
export function otlpExporter(options: OtlpOptions): OtlpExporter {
  const url = tracesUrl(options.url);
  const { clock = systemClock, timeoutMs = 10_000, serviceName = 'millrace' } = options;
  const ask = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const resource = { attributes: otlpAttributes({ 'service.name': serviceName }) };
  const send = async (spans: readonly FinishedSpan[]): Promise<number> => {
    const scopeSpans = [{ scope: { name: 'millrace' }, spans: spans.map(otlpSpan) }];
    const late = new AbortController();
    const cancel = clock.after(timeoutMs, () => late.abort(new Error('no answer came in time')));
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
  // What is told must not have a password in it.
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new AgentError(
      'bad_option',
      'Cannot send spans there: give a URL such as http://localhost:4318',
    );
  if (url.pathname === '/' || url.pathname === '') url.pathname = '/v1/traces';
  return url.href;
}
