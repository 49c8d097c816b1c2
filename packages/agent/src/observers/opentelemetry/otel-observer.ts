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
  /** The parent context for the spans of runs. Default: the context that is active when a run starts. */
  readonly context?: TraceContext | undefined;
  /**
   * The `idGenerator` of the tracer provider. With it, the spans of a run have the ids that requests and
   * tools received as their parent. This is also true if a different process resumes the run. Without it,
   * spans belong to the same trace but have random ids. Default: none.
   */
  readonly ids?: RunSpanIds | undefined;
  /** The name that spans use for the main agent. Default: the agent's own name. */
  readonly agentName?: string | undefined;
  /**
   * True if spans contain messages, tool arguments and tool results, which may be private. Default: false.
   */
  readonly recordContent?: boolean | undefined;
}

/** An observer that creates spans. */
export interface OpenTelemetryObserver {
  /** The observer function. Pass it to `observers`. */
  readonly observe: Observer;
  /** Ends the open spans, for example before the process exits. */
  end(): void;
}

/**
 * The names of the options. The result of `otlpExporter` has a tracer and ids, so a program can pass it as
 * the options.
 */
const optionNames: OptionNames<OpenTelemetryOptions & OtlpExporter> = {
  ...{ tracer: true, context: true, ids: true, agentName: true, recordContent: true },
  ...{ export: true, flush: true, close: true },
};

/**
 * Maximum number of sessions that are traced at the same time. If there are more, the oldest session is
 * dropped.
 */
const maxSessions = 10_000;

/**
 * Creates an observer that traces runs by OpenTelemetry's conventions for generative AI. A run span contains
 * turn spans. A turn span contains attempts and tool executions. A run with a `trace` option continues that
 * trace, even if a different process resumes the run.
 *
 * @example const { observe } = openTelemetryObserver({ tracer: trace.getTracer('my-app') });
 */
export function openTelemetryObserver(options: OpenTelemetryOptions): OpenTelemetryObserver {
  assertKnownOptions('openTelemetryObserver', options, optionNames);
  const { agentName, recordContent = false } = options;
  /** The sessions with open spans. */
  const traces = new Map<SessionId, SessionTrace>();

  const begin = (session: SessionId): SessionTrace => {
    // The span of a sub-agent's run is a child of the tool execution that started the run.
    const spans = traces.values().map((trace) => trace.parentOf(session));
    const parent = spans.find((span) => span !== undefined);
    const trace = new SessionTrace(session, { ...options, agentName, recordContent, parent });
    traces.set(session, trace);
    // Dropping the oldest session bounds the map. If a session ends in a different process, this process gets
    // no end record, so the entry would never be removed.
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
