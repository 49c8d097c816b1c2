import type { AgentEvent, LogRecord, SessionId } from '@millrace/core';
import type { Context, Tracer } from '@opentelemetry/api';
import type { Observer } from './observer.ts';
import { SessionTrace } from './otel-session.ts';

export interface OpenTelemetryOptions {
  /** `trace.getTracer('my-app')` of `@opentelemetry/api`. */
  readonly tracer: Tracer;
  /** What runs are under; else each is under the span that is active when it starts. */
  readonly context?: Context | undefined;
  readonly agentName?: string | undefined;
  /** What was said, and what tools were given and gave. It may be private: off unless asked for. */
  readonly recordContent?: boolean | undefined;
}

export interface OpenTelemetryObserver {
  readonly observe: Observer;
  /** Ends the spans that are still open, for instance before the process goes. */
  end(): void;
}

/**
 * Traces runs by OpenTelemetry's conventions for generative AI: a span for each run, in it one for each
 * turn, in that one for each attempt at a request and for each execution of a tool.
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
    return trace;
  };

  const observe = (record: LogRecord, events: readonly AgentEvent[]): void => {
    const session = events[0]?.session;
    if (session === undefined) return;
    const known = traces.get(session);
    // Only a fact begins anything.
    const trace = known ?? (record.fact && begin(session));
    trace?.hear(record, events);
    if (trace?.isIdle) traces.delete(session);
  };

  const end = (): void => {
    for (const trace of traces.values()) trace.end();
    traces.clear();
  };

  return { observe, end };
}
