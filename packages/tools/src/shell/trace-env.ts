import type { TraceContext } from '@millrace/core';

type Env = Readonly<Record<string, string>>;

/**
 * The environment with what programs that trace look for, by OpenTelemetry's convention. Nothing of
 * another trace stays in it.
 */
export function traceEnv(env: Env, trace: TraceContext | undefined): Env {
  if (trace === undefined) return env;
  const { TRACEPARENT: _parent, TRACESTATE: _state, ...rest } = env;
  const { traceparent, tracestate } = trace;
  const state = tracestate === undefined ? {} : { TRACESTATE: tracestate };
  return { ...rest, TRACEPARENT: traceparent, ...state };
}
