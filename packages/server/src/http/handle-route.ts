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
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import { scopedService } from '../routes/scoped/scoped-service.ts';
import { checkRights } from './access/check-access.ts';
import type { CopyLimits } from './access/copy-limit.ts';
import { restrictedName } from './access/fair-share.ts';
import type { HttpExchange } from './http-exchange.ts';
import type { HttpLimits } from './http-limits.ts';
import type { OpenStreams } from './open-connections.ts';
import { readJson, readQuery, validate } from './request-input.ts';
import { Reply, type Route, type RouteContext, type RouteServices, StreamReply } from './route.ts';

interface HandleRouteOptions extends RouteServices {
  readonly limits: HttpLimits;
  /** Limits the copies of all callers. */
  readonly copyLimits: CopyLimits;
  readonly openStreams: OpenStreams;
  readonly closing: AbortSignal;
}

/** The data of a request before it is validated. */
interface RawInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer | undefined;
}

const emptySchema = z.object({});

/**
 * Validates the input of a route, calls its handler and sends the reply. Throws if the request is refused. It calls
 * `onStart` when it is the turn of the request.
 */
export async function handleRoute(
  route: Route,
  exchange: HttpExchange,
  raw: RawInput,
  options: HandleRouteOptions,
  onStart: () => void = () => {},
): Promise<void> {
  const start = exchange.start();
  if (start !== undefined) await start;
  onStart();
  const input = readInput(route, raw, options.limits);
  exchange.assertReader();
  // The body may have arrived long after the head of the request, and the caller may have fewer rights now.
  if (exchange.isLate()) {
    await exchange.renewGrant();
    checkRights(exchange.grant, exchange.request.method, route);
  }
  let handled: Awaited<ReturnType<Route['handle']>>;
  try {
    const handle = () => route.handle(input, createContext(route, exchange, raw, options));
    handled = await (route.runsInTurn === true ? exchange.inTurn(handle, 'refuse') : handle());
  } finally {
    // A deletion can revoke the token of its own request.
    if (exchange.isLate() && route.method !== 'DELETE') await exchange.renewGrant();
  }
  const result = handled;
  const isStream = result instanceof StreamReply;
  const isMarked = (isStream || result instanceof Reply) && result.isRefusable;
  // A request that has already changed data must be answered, so the limits do not apply to it.
  const isRefusable = route.method === 'GET' || isMarked;
  if (isRefusable) exchange.assertReader();
  if (isStream) {
    const { openStreams } = options;
    if (isRefusable) {
      openStreams.assertCapacity(exchange.caller);
      const restricted = restrictedName(exchange.grant);
      if (result.isReplay && restricted !== undefined)
        openStreams.takeReplay(restricted, exchange.response);
    }
    openStreams.add(exchange);
    return exchange.stream(result);
  }
  const reply = result instanceof Reply ? result : new Reply(result);
  const status = reply.status ?? route.status ?? 200;
  exchange.send(new Reply(reply.body, { status, headers: reply.headers }));
}

function readInput(route: Route, raw: RawInput, limits: HttpLimits) {
  const { params = emptySchema, query = emptySchema } = route;
  return {
    params: validate(params, raw.params, 'the path'),
    query: validate(query, readQuery(query, raw.query), 'the query'),
    body: readBody(route, raw.bytes, limits),
  };
}

function readBody(route: Route, bytes: Buffer | undefined, limits: HttpLimits): unknown {
  if (route.body === undefined || route.readsBody === true) return undefined;
  if (bytes === undefined || bytes.length === 0) {
    if (route.isBodyOptional === true) return validate(route.body, {}, 'the body');
    throw new ServerError('invalid', 'Cannot handle this request without a body. Send JSON');
  }
  const { maxFileBytes: maxBodyBytes } = limits;
  const body = readJson(bytes, route.isLarge === true ? { ...limits, maxBodyBytes } : limits);
  if (body.ok) return validate(route.body, body.value, 'the body');
  throw new ServerError('bad_request', `Cannot read the body: ${body.why}`);
}

function createContext(
  route: Route,
  exchange: HttpExchange,
  { bytes, query: rawQuery }: RawInput,
  options: HandleRouteOptions,
): RouteContext {
  const { request, grant, caller, drained, full, inTurn, toServerError } = exchange;
  const { service, streams, tokens, log, clock, limits, closing, storage, mcp, a2a, push } =
    options;
  const { copyLimits, publicAgents } = options;
  const copies = copyLimits.of(restrictedName(grant));
  return {
    service: scopedService(service, grant, copies),
    copies,
    grant,
    caller,
    restricted: restrictedName(grant),
    drained,
    full,
    inTurn,
    streams,
    tokens,
    log,
    clock,
    limits,
    closing,
    storage,
    mcp,
    a2a,
    publicAgents,
    push,
    headers: request.headers,
    trace: traceRequest(route, exchange, options),
    bytes,
    rawQuery,
    basePath: request.basePath,
    origin: exchange.origin,
    labelRequest: (what) => {
      exchange.label = what;
    },
    toServerError,
  };
}

interface TraceOptions {
  readonly clock: Clock;
  readonly exporter?: SpanExporter | undefined;
}

const serverKind = 1;
const errorStatus = 2;

/**
 * Returns the trace context of a request. If there is an exporter, each request that can start work gets its
 * own span. If the caller sent no trace, this span starts a new trace. All later spans therefore have a
 * parent.
 */
function traceRequest(
  { method, path }: Pick<Route, 'method' | 'path'>,
  { request, response }: Pick<HttpExchange, 'request' | 'response'>,
  { clock, exporter }: TraceOptions,
): TraceContext | undefined {
  const { traceparent, tracestate } = request.headers;
  const incoming = traceContext(traceparent, tracestate);
  if (exporter === undefined || method === 'GET') return incoming;
  const parent = incoming && parseTraceparent(incoming.traceparent);
  const span = createSpan(exporter, parent);
  const startMs = clock.now();
  response.once('close', () => {
    if (!isSampled(span)) return;
    const status = response.statusCode;
    exporter.export({
      ...{ traceId: span.traceId, spanId: span.spanId, parentSpanId: parent?.spanId },
      ...{ name: `${method} ${path}`, kind: serverKind, startMs, endMs: clock.now() },
      attributes: {
        'http.request.method': method,
        'http.route': path,
        'http.response.status_code': status,
      },
      ...(status >= 500 && { status: { code: errorStatus } }),
    });
  });
  return { ...incoming, traceparent: formatTraceparent(span) };
}

function createSpan({ ids }: SpanExporter, parent: TraceParent | undefined): TraceParent {
  const traceId = parent?.traceId ?? ids.generateTraceId();
  return { traceId, spanId: ids.generateSpanId(), flags: parent?.flags ?? 1 };
}
