import type { AgentEvent, LogRecord, OptionNames, SessionId } from '@millrace/core';
import type { ObservedRun, Observer } from '../../contract/observer.ts';
import type { TraceContext } from '../../contract/telemetry.ts';
import { assertKnownOptions } from '../../known-options.ts';
import type { OtlpExporter } from './otlp-exporter.ts';
import type { RunSpanIds } from './run-span-ids.ts';
import { SessionTrace } from './session-trace.ts';
import type { SpanTracer } from './timed-span.ts';

/** Options of `openTelemetryObserver`. */
export interface OpenTelemetryOptions {
  /** The tracer: `trace.getTracer('my-app')` of `@opentelemetry/api`. */
  readonly tracer: SpanTracer;
  /** The parent context of runs. Default: the context that is active when a run starts. */
  readonly context?: TraceContext | undefined;
  /**
   * The `idGenerator` of the tracer's provider. With it, spans have the ids that requests and tools got
   * as their parent, even if another process resumes the run. Without it, spans belong to the same trace
   * but have random ids. Default: none.
   */
  readonly ids?: RunSpanIds | undefined;
  /** The name of the main agent in spans. Default: the agent's own name. */
  readonly agentName?: string | undefined;
  /** Records messages, tool arguments and tool results, which may be private. Default: false. */
  readonly recordContent?: boolean | undefined;
}

/** An observer that writes spans. */
export interface OpenTelemetryObserver {
  /** Pass this to `observers`. */
  readonly observe: Observer;
  /** Ends the open spans, for example before the process exits. */
  end(): void;
}

/**
 * The names of the options. An exporter from `otlpExporter` has a tracer and ids, so it can be passed as
 * the options.
 */
const optionNames: OptionNames<OpenTelemetryOptions & OtlpExporter> = {
  ...{ tracer: true, context: true, ids: true, agentName: true, recordContent: true },
  ...{ export: true, flush: true, close: true },
};

/** Maximum number of traced sessions. If there are more, the oldest one is dropped. */
const maxSessions = 10_000;

/**
 * Creates an observer that traces runs by OpenTelemetry's conventions for generative AI. A run span
 * contains turn spans. A turn span contains attempts and tool executions. A run with a `trace` option
 * continues that trace, also when another process resumes the run.
 *
 * @example const { observe } = openTelemetryObserver({ tracer: trace.getTracer('my-app') });
 */
export function openTelemetryObserver(options: OpenTelemetryOptions): OpenTelemetryObserver {
  assertKnownOptions('openTelemetryObserver', options, optionNames);
  const { agentName, recordContent = false } = options;
  /** The sessions with open spans. */
  const traces = new Map<SessionId, SessionTrace>();

  const begin = (session: SessionId): SessionTrace => {
    // A sub-agent's run is a child of the execution that started it.
    const spans = traces.values().map((trace) => trace.parentOf(session));
    const parent = spans.find((span) => span !== undefined);
    const trace = new SessionTrace(session, { ...options, agentName, recordContent, parent });
    traces.set(session, trace);
    // This bounds the map. A session that ends in another process is not reported here, so its entry
    // would stay.
    const [oldest = session] = traces.keys();
    if (traces.size > maxSessions) traces.delete(oldest);
    return trace;
  };

  const observe = (record: LogRecord, events: readonly AgentEvent[], run?: ObservedRun): void => {
    const session = events[0]?.session;
    if (session === undefined) return;
    const known = traces.get(session);
    // Only a fact can start a span.
    const trace = known ?? (record.fact && begin(session));
    trace?.onRecord(record, events, run);
    if (trace?.isIdle) traces.delete(session);
  };

  const end = (): void => {
    for (const trace of traces.values()) trace.end();
    traces.clear();
  };

  return { observe, end };
}
