import type { IncomingHttpHeaders } from 'node:http';
import type { SpanExporter } from '@millrace/agent';
import type { TraceContext } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { z } from 'zod';
import type { ServerError } from '../contract/server-error.ts';
import type { TaskService } from '../contract/service.ts';
import type { TaskStreams } from '../contract/stream.ts';
import type { HttpLimits } from './http-limits.ts';
import type { Reply, StreamReply } from './reply.ts';
import type { RouteHeader } from './route-header.ts';
import type { TokenStore } from './token-store.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What every route can reach. */
export interface RouteServices {
  readonly service: TaskService;
  readonly streams: TaskStreams;
  readonly tokens: TokenStore;
  readonly log: Log;
  readonly clock: Clock;
  /** Takes a span for each request that may begin work. */
  readonly exporter?: SpanExporter | undefined;
}

/** `service` allows only what the caller may touch. */
export interface RouteContext extends RouteServices {
  readonly headers: IncomingHttpHeaders;
  /** What the request is part of, by `traceparent`; a bad one counts as none. */
  readonly trace: TraceContext | undefined;
  /** The body as it came. */
  readonly bytes: Buffer | undefined;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
  readonly limits: HttpLimits;
  /** For the request log: which method of several it was. */
  note(what: string): void;
  /** An error as what can be told of it; what nobody foresaw is logged, and not told. */
  toRefusal(this: void, error: unknown): ServerError;
}

type Fields = z.ZodObject;

interface RouteInput<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
}

export interface RouteSpec<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly method: Method;
  /** `/tasks/{task_id}` */
  readonly path: string;
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  /** Those that it reads from its context, for the document. */
  readonly headers?: readonly RouteHeader[];
  readonly body?: B;
  /** A route that may come without a body, which then is `{}`. */
  readonly isBodyOptional?: boolean;
  /** The route reads `bytes` itself; `body` is for the document. */
  readonly readsBody?: boolean;
  readonly reply: z.ZodType;
  readonly replyType?: string;
  readonly status?: number;
  /** `public`: no token is needed. `all`: only tokens that may touch all. */
  readonly access?: 'public' | 'all';
  handle(
    input: RouteInput<P, Q, B>,
    context: RouteContext,
  ): Promise<Reply | StreamReply | object | undefined>;
}

/** A route whose types are not told apart any more. */
export type Route = Omit<RouteSpec<Fields, Fields, z.ZodType>, 'handle'> & {
  handle(
    input: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
    context: RouteContext,
  ): Promise<Reply | StreamReply | object | undefined>;
};

/** One entry of the table: what it takes, what it gives, and who does it. */
export function route<
  P extends Fields = z.ZodObject<Record<never, never>>,
  Q extends Fields = z.ZodObject<Record<never, never>>,
  B extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<P, Q, B>): Route {
  // What comes in was held against the same schemas before `handle` gets it.
  return spec as unknown as Route;
}
