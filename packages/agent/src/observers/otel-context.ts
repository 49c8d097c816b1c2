import type { TraceParent } from '@millrace/core';
import type { Context, SpanContext } from '@opentelemetry/api';

/** Where every version of the OpenTelemetry API keeps the span of a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN');

/** The context in which what starts is a child of the span. */
export function contextOf(
  span: { spanContext(): SpanContext },
  base: Context | undefined,
): Context {
  return (base ?? makeContext(new Map())).setValue(spanKey, span);
}

/** The same for a span of another process. */
export function remoteContext(
  { traceId, spanId, flags }: TraceParent,
  base: Context | undefined,
): Context {
  const remote = { traceId, spanId, traceFlags: flags, isRemote: true };
  return contextOf({ spanContext: () => remote }, base);
}

/** Of the context that a span is started in. */
export function parentIn(context: Context | undefined): SpanContext | undefined {
  return (context?.getValue(spanKey) as { spanContext(): SpanContext } | undefined)?.spanContext();
}

/** A context as the API makes them. Written here because the API need not be installed: the tracer is given. */
function makeContext(values: ReadonlyMap<symbol, unknown>): Context {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => makeContext(new Map([...values, [key, value]])),
    deleteValue: (key) => makeContext(new Map([...values].filter(([known]) => known !== key))),
  };
}
