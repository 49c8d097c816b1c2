// These types describe the part of OpenTelemetry's API that the observer uses. With them, this package
// compiles without `@opentelemetry/api`. Objects of `@opentelemetry/api` are compatible with these types.

/** The value of a span's attribute. */
export type AttributeValue =
  | string
  | number
  | boolean
  | (string | null | undefined)[]
  | (number | null | undefined)[]
  | (boolean | null | undefined)[];

/** The attributes of a span or an event. */
export interface Attributes {
  [name: string]: AttributeValue | undefined;
}

/** A time: seconds since 1970, and nanoseconds. */
export type HrTime = [number, number];

/** The ids of a span, which are sent to other processes in headers. */
export interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
}

/** The status of a span. `code` is 0 for unset, 1 for OK and 2 for error. */
export interface SpanStatus {
  code: number;
  message?: string;
}

/** The options for a new span. `kind` is 0 for internal, 1 for server and 2 for client. */
export interface SpanOptions {
  kind?: number;
  attributes?: Attributes;
  startTime?: HrTime;
}

/** OpenTelemetry's `Context`: the values that new spans of a trace inherit. */
export interface TraceContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceContext;
  deleteValue(key: symbol): TraceContext;
}
