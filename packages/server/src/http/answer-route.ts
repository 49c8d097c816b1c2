import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import { scopedService } from '../routes/scoped/scoped-service.ts';
import type { AnsweredRequest } from './answered-request.ts';
import type { HttpLimits } from './http-limits.ts';
import type { OpenStreams } from './open-streams.ts';
import { readJson } from './read-json.ts';
import { readQuery } from './read-query.ts';
import { Reply, StreamReply } from './reply.ts';
import { requestTrace } from './request-trace.ts';
import type { Route, RouteContext, RouteServices } from './route.ts';
import { validate } from './validate.ts';

interface AnswerOptions extends RouteServices {
  readonly limits: HttpLimits;
  readonly openStreams: OpenStreams;
  readonly closing: AbortSignal;
}

const nothing = z.object({});

/** Reads what the route takes, has it done, and sends what came of it. */
export async function answerRoute(
  route: Route,
  answered: AnsweredRequest,
  options: AnswerOptions,
): Promise<FastifyReply> {
  try {
    const input = readInput(route, answered, options.limits);
    const result = await route.handle(input, contextOf(route, answered, options));
    if (result instanceof StreamReply) {
      const { openStreams } = options;
      // What was asked for by another method is done already; only its answer is told.
      if (route.method === 'GET') openStreams.assertRoom(answered.caller);
      openStreams.add(answered.caller, answered.response);
      return await answered.stream(result);
    }
    const reply = result instanceof Reply ? result : new Reply(result);
    const status = reply.status ?? route.status ?? 200;
    return await answered.send(new Reply(reply.body, { status, headers: reply.headers }));
  } catch (error) {
    return answered.refuse(error);
  }
}

function readInput(route: Route, { request }: AnsweredRequest, limits: HttpLimits) {
  const { params = nothing, query = nothing } = route;
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

function contextOf(route: Route, answered: AnsweredRequest, options: AnswerOptions): RouteContext {
  const { request, scope, toRefusal } = answered;
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
    trace: requestTrace(route, answered, options),
    bytes: Buffer.isBuffer(request.body) ? request.body : undefined,
    note: (what) => {
      answered.what = what;
    },
    toRefusal,
  };
}
