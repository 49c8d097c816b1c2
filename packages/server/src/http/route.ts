import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { SpanExporter } from '@millrace/agent';
import type { TraceContext } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';
import type { RequestMetadata, TaskService } from '../contract/service.ts';
import type { TaskStreams } from '../contract/stream.ts';
import type { TokenStore } from './access/token-store.ts';
import type { HttpLimits } from './http-limits.ts';

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
  labelRequest(what: string): void;
  /** An error as what can be told of it; what nobody foresaw is logged, and not told. */
  toServerError(this: void, error: unknown): ServerError;
}

type Fields = z.ZodObject;

interface RouteInput<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly params: z.output<P>;
  readonly query: z.output<Q>;
  readonly body: z.output<B>;
}

interface RouteSpec<P extends Fields, Q extends Fields, B extends z.ZodType> {
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

/** An answer that is more than its value. */
export class Reply {
  readonly body: unknown;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    body: unknown,
    options: {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    this.body = body;
    this.status = options.status;
    this.headers = options.headers ?? {};
  }
}

/** An answer that writes itself, for as long as it takes. */
export class StreamReply {
  readonly write: (response: ServerResponse) => Promise<void>;

  constructor(write: (response: ServerResponse) => Promise<void>) {
    this.write = write;
  }
}

const idempotencyKeyPattern: RegExp = /^[\x21-\x7e]{1,256}$/;

/** What makes a request that is sent again count once; undefined where the client named none. */
function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && idempotencyKeyPattern.test(key)) return key;
  const message =
    'Cannot take this idempotency-key: it is not of 1 to 256 printable characters without spaces';
  throw new ServerError('invalid', message);
}

/** What a request may say in a header, as the document tells it. */
const headerDocs = {
  'idempotency-key': {
    description: 'A request that is sent again with the same key counts once',
    schema: { type: 'string', pattern: idempotencyKeyPattern.source },
  },
  'last-event-id': {
    description: 'The id of the event after which to go on. It counts before `from`',
    schema: { type: 'string', maxLength: 64 },
  },
} as const;

/** A header that means something to a route, besides those that mean the same to all. */
type RouteHeader = keyof typeof headerDocs;

export function headerParameter(name: RouteHeader): Readonly<Record<string, unknown>> {
  return { name, in: 'header', required: false, ...headerDocs[name] };
}

/** What came with a request, besides what it asks for. */
export function requestMetadata({
  headers,
  trace,
}: Pick<RouteContext, 'headers' | 'trace'>): RequestMetadata {
  return { key: idempotencyKey(headers), trace };
}
