import { type JsonObject, type TraceContext, traceContext } from '@millrace/core';

/** As it lies beside a command on the log, where whoever takes the command up finds it. */
export function traceJson(trace: TraceContext | undefined): { readonly trace?: JsonObject } {
  return trace === undefined ? {} : { trace: { ...trace } };
}

/** Of a command; none where it has none, or a bad one. */
export function traceIn(command: JsonObject): TraceContext | undefined {
  const { traceparent, tracestate } = (command['trace'] ?? {}) as JsonObject;
  return traceContext(traceparent, tracestate);
}
