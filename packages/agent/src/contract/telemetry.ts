// The part of OpenTelemetry's API that the observer uses, as types of our own. The types of this
// package therefore compile without `@opentelemetry/api`, and objects of that package fit them.

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

/** Seconds since 1970, and nanoseconds. */
export type HrTime = [number, number];

/** The ids of a span, as they are sent to other processes. */
export interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
}

/** 0 unset, 1 OK, 2 error. */
export interface SpanStatus {
  code: number;
  message?: string;
}

/** How a span starts. Kinds: 0 internal, 1 server, 2 client. */
export interface SpanOptions {
  kind?: number;
  attributes?: Attributes;
  startTime?: HrTime;
}

/** The values that a trace hands down to new spans: OpenTelemetry's `Context`. */
export interface TraceContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceContext;
  deleteValue(key: symbol): TraceContext;
}
