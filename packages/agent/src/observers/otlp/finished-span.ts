import type { Attributes, AttributeValue } from '@opentelemetry/api';

/** A span that has come to its end. Kinds and states are those of OpenTelemetry's API. */
export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  /** 0 internal, 1 server, 2 client. */
  readonly kind: number;
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events?: readonly SpanEvent[] | undefined;
  /** 0 nothing said, 1 fine, 2 failed. */
  readonly status?: { readonly code: number; readonly message?: string | undefined } | undefined;
}

export interface SpanEvent {
  readonly name: string;
  readonly timeMs: number;
  readonly attributes: Attributes;
}

/** Longer texts are cut: a collector would refuse the whole batch for one of them. */
const maxTextLength = 32 * 1024;

/** As OTLP has it in JSON. */
export function otlpSpan(span: FinishedSpan): object {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, status } = span;
  return {
    ...{ traceId, spanId, ...(parentSpanId !== undefined && { parentSpanId }) },
    // OTLP counts from 1, because 0 is a kind that nobody told.
    ...{ name, kind: kind + 1, flags: 1 },
    ...{ startTimeUnixNano: nanos(startMs), endTimeUnixNano: nanos(endMs) },
    attributes: otlpAttributes(attributes),
    events: (span.events ?? []).map((event) => ({
      ...{ timeUnixNano: nanos(event.timeMs), name: event.name },
      attributes: otlpAttributes(event.attributes),
    })),
    ...(status && { status }),
  };
}

export function otlpAttributes(attributes: Attributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: otlpValue(value) }],
  );
}

function otlpValue(value: AttributeValue | null | undefined): object {
  if (typeof value === 'string')
    return { stringValue: value.slice(0, maxTextLength).toWellFormed() };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: (value ?? []).map((one) => otlpValue(one ?? '')) } };
}

/** As text, because it is beyond what a number of JSON holds. */
function nanos(timeMs: number): string {
  return String(BigInt(Math.round(timeMs * 1000)) * 1000n);
}
