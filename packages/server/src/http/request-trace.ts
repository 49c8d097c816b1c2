import type { SpanExporter } from '@millrace/agent';
import {
  formatTraceparent,
  isSampled,
  parseTraceparent,
  type TraceContext,
  type TraceParent,
  traceContext,
} from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { AnsweredRequest } from './answered-request.ts';
import type { Route } from './route.ts';

interface TraceOptions {
  readonly clock: Clock;
  readonly exporter?: SpanExporter | undefined;
}

const serverKind = 1;
const failed = 2;

/**
 * What a request is part of. Where spans are exported, one that may begin work has a span of its own,
 * which begins a trace where the caller named none; so nothing that follows is without a root.
 */
export function requestTrace(
  { method, path }: Pick<Route, 'method' | 'path'>,
  { request, response }: Pick<AnsweredRequest, 'request' | 'response'>,
  { clock, exporter }: TraceOptions,
): TraceContext | undefined {
  const { traceparent, tracestate } = request.headers;
  const given = traceContext(traceparent, tracestate);
  if (exporter === undefined || method === 'GET') return given;
  const parent = given && parseTraceparent(given.traceparent);
  const own = ownSpan(exporter, parent);
  const startMs = clock.now();
  response.once('close', () => {
    if (!isSampled(own)) return;
    const status = response.statusCode;
    exporter.export({
      ...{ traceId: own.traceId, spanId: own.spanId, parentSpanId: parent?.spanId },
      ...{ name: `${method} ${path}`, kind: serverKind, startMs, endMs: clock.now() },
      attributes: {
        'http.request.method': method,
        'http.route': path,
        'http.response.status_code': status,
      },
      ...(status >= 500 && { status: { code: failed } }),
    });
  });
  return { ...given, traceparent: formatTraceparent(own) };
}

function ownSpan({ ids }: SpanExporter, parent: TraceParent | undefined): TraceParent {
  const traceId = parent?.traceId ?? ids.generateTraceId();
  return { traceId, spanId: ids.generateSpanId(), flags: parent?.flags ?? 1 };
}
