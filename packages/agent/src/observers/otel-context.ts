import type { Context, Span } from '@opentelemetry/api';

/** Where every version of the OpenTelemetry API keeps the span of a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN');

/** The context in which what starts is a child of the span. */
export function contextOf(span: Span, base: Context | undefined): Context {
  return (base ?? makeContext(new Map())).setValue(spanKey, span);
}

/** A context as the API makes them. Written here because the API need not be installed: the tracer is given. */
function makeContext(values: ReadonlyMap<symbol, unknown>): Context {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => makeContext(new Map([...values, [key, value]])),
    deleteValue: (key) => makeContext(new Map([...values].filter(([known]) => known !== key))),
  };
}
