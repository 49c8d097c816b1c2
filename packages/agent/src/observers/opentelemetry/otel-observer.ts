import type { AgentEvent, LogRecord, SessionId } from '@millrace/core';
import type { Context } from '@opentelemetry/api';
import type { ObservedRun, Observer } from '../../contract/observer.ts';
import type { RunSpanIds } from './run-span-ids.ts';
import { SessionTrace } from './session-trace.ts';
import type { SpanTracer } from './timed-span.ts';

export interface OpenTelemetryOptions {
  /** `trace.getTracer('my-app')` of `@opentelemetry/api`. */
  readonly tracer: SpanTracer;
  /** What runs are under; else each is under the span that is active when it starts. */
  readonly context?: Context | undefined;
  /**
   * What the tracer's provider has as `idGenerator`. With it the ids of spans are those that went out
   * with requests and to tools, and those of a run that another process goes on with. Without it, a
   * run is still under the trace that it was given.
   */
  readonly ids?: RunSpanIds | undefined;
  readonly agentName?: string | undefined;
  /** What was said, and what tools were given and gave. It may be private: off unless asked for. */
  readonly recordContent?: boolean | undefined;
}

export interface OpenTelemetryObserver {
  readonly observe: Observer;
  /** Ends the spans that are still open, for instance before the process goes. */
  end(): void;
}

/** So many sessions are followed at once; the spans of the oldest are then given up. */
const maxSessions = 10_000;

/**
 * Traces runs by OpenTelemetry's conventions for generative AI: a span for each run, in it one for each
 * turn, in that one for each attempt at a request and for each execution of a tool. A run that was given
 * a trace is part of that, and goes on in it in whichever process takes it up.
 *
 * @example
 * const { observe } = openTelemetryObserver({ tracer: trace.getTracer('my-app') });
 */
export function openTelemetryObserver(options: OpenTelemetryOptions): OpenTelemetryObserver {
  const { agentName, recordContent = false } = options;
  /** Those that have a span under way. */
  const traces = new Map<SessionId, SessionTrace>();

  const begin = (session: SessionId): SessionTrace => {
    // A sub-agent's run is part of the execution that started it.
    const spans = traces.values().map((trace) => trace.parentOf(session));
    const parent = spans.find((span) => span !== undefined);
    const trace = new SessionTrace(session, { ...options, agentName, recordContent, parent });
    traces.set(session, trace);
    // Ends that other processes hear of do not come here.
    const [oldest = session] = traces.keys();
    if (traces.size > maxSessions) traces.delete(oldest);
    return trace;
  };

  const observe = (record: LogRecord, events: readonly AgentEvent[], run?: ObservedRun): void => {
    const session = events[0]?.session;
    if (session === undefined) return;
    const known = traces.get(session);
    // Only a fact begins anything.
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
