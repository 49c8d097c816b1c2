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
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import { scopedService } from '../routes/scoped/scoped-service.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { HttpLimits } from './http-limits.ts';
import type { OpenStreams } from './open-connections.ts';
import { readJson, readQuery, validate } from './request-input.ts';
import { Reply, type Route, type RouteContext, type RouteServices, StreamReply } from './route.ts';

interface HandleRouteOptions extends RouteServices {
  readonly limits: HttpLimits;
  readonly openStreams: OpenStreams;
  readonly closing: AbortSignal;
}

const emptySchema = z.object({});

/** Reads what the route takes, has it done, and sends what came of it. */
export async function handleRoute(
  route: Route,
  answered: HttpExchange,
  options: HandleRouteOptions,
): Promise<FastifyReply> {
  try {
    const input = readInput(route, answered, options.limits);
    const result = await route.handle(input, createContext(route, answered, options));
    if (result instanceof StreamReply) {
      const { openStreams } = options;
      // What was asked for by another method is done already; only its answer is told.
      if (route.method === 'GET') openStreams.assertCapacity(answered.caller);
      openStreams.add(answered.caller, answered.response);
      return await answered.stream(result);
    }
    const reply = result instanceof Reply ? result : new Reply(result);
    const status = reply.status ?? route.status ?? 200;
    return await answered.send(new Reply(reply.body, { status, headers: reply.headers }));
  } catch (error) {
    return answered.sendError(error);
  }
}

function readInput(route: Route, { request }: HttpExchange, limits: HttpLimits) {
  const { params = emptySchema, query = emptySchema } = route;
  const given = readQuery(query, request.query as Readonly<Record<string, unknown>>);
  return {
    params: validate(params, request.params, 'the path'),
    query: validate(query, given, 'the query'),
    body: readBody(route, request.body, limits),
  };
}

function readBody(route: Route, bytes: unknown, limits: HttpLimits): unknown {
  if (route.body === undefined || route.readsBody === true) return undefined;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) {
    if (route.isBodyOptional === true) return validate(route.body, {}, 'the body');
    throw new ServerError('invalid', 'Cannot do this without a body. Send JSON');
  }
  const body = readJson(bytes, limits);
  if (body.ok) return validate(route.body, body.value, 'the body');
  throw new ServerError('bad_request', `Cannot read the body: ${body.why}`);
}

function createContext(
  route: Route,
  answered: HttpExchange,
  options: HandleRouteOptions,
): RouteContext {
  const { request, scope, toServerError } = answered;
  const { service, streams, tokens, log, clock, limits, closing } = options;
  return {
    service: scopedService(service, scope),
    streams,
    tokens,
    log,
    clock,
    limits,
    closing,
    headers: request.headers,
    trace: traceRequest(route, answered, options),
    bytes: Buffer.isBuffer(request.body) ? request.body : undefined,
    labelRequest: (what) => {
      answered.label = what;
    },
    toServerError: toServerError,
  };
}

interface TraceOptions {
  readonly clock: Clock;
  readonly exporter?: SpanExporter | undefined;
}

const serverKind = 1;
const errorStatus = 2;

/**
 * What a request is part of. Where spans are exported, one that may begin work has a span of its own,
 * which begins a trace where the caller named none; so nothing that follows is without a root.
 */
function traceRequest(
  { method, path }: Pick<Route, 'method' | 'path'>,
  { request, response }: Pick<HttpExchange, 'request' | 'response'>,
  { clock, exporter }: TraceOptions,
): TraceContext | undefined {
  const { traceparent, tracestate } = request.headers;
  const given = traceContext(traceparent, tracestate);
  if (exporter === undefined || method === 'GET') return given;
  const parent = given && parseTraceparent(given.traceparent);
  const own = createSpan(exporter, parent);
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
      ...(status >= 500 && { status: { code: errorStatus } }),
    });
  });
  return { ...given, traceparent: formatTraceparent(own) };
}

function createSpan({ ids }: SpanExporter, parent: TraceParent | undefined): TraceParent {
  const traceId = parent?.traceId ?? ids.generateTraceId();
  return { traceId, spanId: ids.generateSpanId(), flags: parent?.flags ?? 1 };
}
