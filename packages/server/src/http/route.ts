import type { IncomingHttpHeaders } from 'node:http';
import type { SpanExporter } from '@millrace/agent';
import type { TraceContext } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { z } from 'zod';
import type { HttpResponse } from '../contract/http.ts';
import { ServerError } from '../contract/server-error.ts';
import type { CopyLimit, Grant, RequestMetadata, TaskService } from '../contract/service.ts';
import type { TaskStreams } from '../contract/stream.ts';
import type { AgentInfo } from '../contract/task.ts';
import type { A2aOptions, PushSender } from '../routes/a2a/contract.ts';
import type { McpOptions } from '../routes/mcp/mcp-options.ts';
import type { SharedRead } from '../stores/shared-read.ts';
import type { StorageHealth } from '../stores/storage-health.ts';
import type { TokenStore } from './access/token-store.ts';
import type { HttpLimits } from './http-limits.ts';
import { openObjectsIn } from './open-objects.ts';
import type { InTurn } from './replies/reply-turns.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Services that every route can use. */
export interface RouteServices {
  readonly service: TaskService;
  readonly streams: TaskStreams;
  readonly tokens: TokenStore;
  readonly log: Log;
  readonly clock: Clock;
  /** Reports whether the stores accept writes. Default: unknown; the server then counts as ready. */
  readonly storage?:
    | Pick<StorageHealth, 'report' | 'assertWritable' | 'assertReadable'>
    | undefined;
  /** Receives a span for each request that can start work. */
  readonly exporter?: SpanExporter | undefined;
  /** What the MCP endpoint offers in addition to the agents. Default: nothing. */
  readonly mcp?: McpOptions | undefined;
  /** What the A2A endpoints show about the agents. Default: the defaults of `A2aOptions`. */
  readonly a2a?: A2aOptions | undefined;
  /** The agents whose cards need no token. Undefined if cards need one. */
  readonly publicAgents?: SharedRead<readonly AgentInfo[]> | undefined;
  /** Sends the push notifications of A2A. Default: the server sends none. */
  readonly push?: PushSender | undefined;
}

/** The services and the request that a handler receives. `service` is restricted to the caller's scope. */
export interface RouteContext extends RouteServices {
  /** The rights of the caller. */
  readonly grant: Grant;
  /** The name of the caller: its token, its user or its address. */
  readonly caller: string;
  /** Identifies the resources of a caller without full access. Undefined for full access. */
  readonly restricted: string | undefined;
  /** Limits the copies of the caller. Undefined for full access. */
  readonly copies: CopyLimit | undefined;
  /** Waits until the client has read what was written. Disconnects a client that stops reading. */
  readonly drained: (response: HttpResponse) => Promise<void>;
  /**
   * Returns a promise if the caller has too many unread replies. It resolves when the caller has read. Returns
   * undefined if the caller can get more bytes. Ask again after a wait, and write directly after the check.
   */
  readonly full: () => Promise<void> | undefined;
  /**
   * Prepares a reply that needs much work or memory. Use it for work that grows with the stored data, and write
   * the reply directly after it. Work that runs in a turn must not take another turn.
   */
  readonly inTurn: InTurn;
  readonly headers: IncomingHttpHeaders;
  /** The trace context from the header `traceparent`. Undefined if the header is missing or invalid. */
  readonly trace: TraceContext | undefined;
  /** The query before it is converted and validated. */
  readonly rawQuery: Readonly<Record<string, unknown>>;
  /** The path at which the server is mounted. Empty for the root. */
  readonly basePath: string;
  /** The origin of the server, as the client sees it, for example `https://agents.example`. */
  readonly origin: string;
  /** The body before it is parsed. Undefined if the request has no body. */
  readonly bytes: Buffer | undefined;
  /** The signal is aborted when the server closes. */
  readonly closing: AbortSignal;
  readonly limits: HttpLimits;
  /** Adds a label, such as a JSON-RPC method, to the request's log line. */
  labelRequest(what: string): void;
  /** Converts any error to an error that clients may see. It logs unexpected errors. */
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
  /**
   * The path of the route, for example `/tasks/{task_id}`. A last segment such as `{path*}` contains one or
   * more segments of the request, in their canonical form.
   */
  readonly path: string;
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  /** The headers that the handler reads. They appear in the OpenAPI document. */
  readonly headers?: readonly RouteHeader[];
  readonly body?: B;
  /** True if the body is optional. A missing body counts as `{}`. */
  readonly isBodyOptional?: boolean;
  /** True if the handler parses `bytes` itself. `body` is then used only in the OpenAPI document. */
  readonly readsBody?: boolean;
  /**
   * True if the body can contain files. The limit `maxFileBytes` then applies instead of `maxBodyBytes`, and
   * the request counts as an upload. Default: false.
   */
  readonly isLarge?: boolean;
  /** True if the body is a file and not JSON. The handler then reads `bytes`. Default: the body is JSON. */
  readonly takesFile?: boolean;
  /** True if the body can have any content type. The handler then reads `bytes`. Default: the body is JSON. */
  readonly takesAny?: boolean;
  readonly reply: z.ZodType;
  readonly replyType?: string;
  readonly status?: number;
  /**
   * `public`: the request needs no token. `all`: the caller must have full access. Default: every authorized
   * caller can use the route.
   */
  readonly access?: 'public' | 'all';
  /**
   * True if the handler runs in a turn of the caller, see `RouteContext.inTurn`. Use it for reads whose replies grow
   * with the stored data, and for writes of many records. Default: false.
   */
  readonly runsInTurn?: boolean;
  handle(
    input: RouteInput<P, Q, B>,
    context: RouteContext,
  ): Promise<Reply | StreamReply | object | undefined>;
}

/** A route without the specific types of its input. */
export type Route = Omit<RouteSpec<Fields, Fields, z.ZodType>, 'handle'> & {
  handle(
    input: { readonly params: unknown; readonly query: unknown; readonly body: unknown },
    context: RouteContext,
  ): Promise<Reply | StreamReply | object | undefined>;
};

/** Defines a route with its method, path, schemas and handler. */
export function route<
  P extends Fields = z.ZodObject<Record<never, never>>,
  Q extends Fields = z.ZodObject<Record<never, never>>,
  B extends z.ZodType = z.ZodUndefined,
>(spec: RouteSpec<P, Q, B>): Route {
  const open = spec.body === undefined ? [] : openObjectsIn(spec.body);
  if (open.length > 0)
    throw new Error(`${spec.method} ${spec.path} drops unknown fields of ${open.join(', ')}`);
  // The cast is safe, because `handleRoute` validates the input with the same schemas.
  return spec as unknown as Route;
}

/** A reply with its own status or headers. */
export class Reply {
  readonly body: unknown;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** True if the request changed nothing, so that the server can still refuse it. GET needs no such mark. */
  readonly isRefusable: boolean;

  constructor(
    body: unknown,
    options: {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly isRefusable?: boolean;
    } = {},
  ) {
    this.body = body;
    this.status = options.status;
    this.headers = options.headers ?? {};
    this.isRefusable = options.isRefusable ?? false;
  }
}

/** A reply that writes directly to the response, for example a stream. */
export class StreamReply {
  readonly write: (response: HttpResponse) => Promise<void>;
  /** True if the request changed nothing, so that the server can still refuse it. */
  readonly isRefusable: boolean;
  /**
   * True if the reply starts with the stored content of a run, so that it needs much memory. A caller without
   * full access can have only few of these streams.
   */
  readonly isReplay: boolean;

  constructor(
    write: (response: HttpResponse) => Promise<void>,
    { isRefusable = false, isReplay = false } = {},
  ) {
    this.write = write;
    this.isRefusable = isRefusable;
    this.isReplay = isReplay;
  }
}

const idempotencyKeyPattern: RegExp = /^[\x21-\x7e]{1,256}$/;

/** Returns the idempotency key of a request. Returns undefined if the client sent no key. */
function idempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && idempotencyKeyPattern.test(key)) return key;
  const message =
    'Cannot use this idempotency-key. Send 1 to 256 printable ASCII characters without spaces';
  throw new ServerError('invalid', message);
}

/** The headers that routes can read. The texts appear in the OpenAPI document. */
const headerDocs = {
  'idempotency-key': {
    description: 'Idempotency key. A repeated request with the same key has no further effect',
    schema: { type: 'string', pattern: idempotencyKeyPattern.source },
  },
  'last-event-id': {
    description:
      'The id of the last received event. The stream continues after it. Takes precedence over `from`',
    schema: { type: 'string', maxLength: 64 },
  },
  'millrace-on-close': {
    description:
      'What a closed connection does: `continue` leaves the agent running, `stop` stops the answer of this request. Default: `continue`',
    schema: { type: 'string', enum: ['continue', 'stop'] },
  },
  range: {
    description: 'One range of bytes, for example `bytes=0-1023`. Default: all bytes',
    schema: { type: 'string', maxLength: 64 },
  },
} as const;

/** The name of a header that only some routes read. */
type RouteHeader = keyof typeof headerDocs;

export function headerParameter(name: RouteHeader): Readonly<Record<string, unknown>> {
  return { name, in: 'header', required: false, ...headerDocs[name] };
}

/** Returns the idempotency key and the trace context of a request. */
export function requestMetadata({
  headers,
  trace,
}: Pick<RouteContext, 'headers' | 'trace'>): RequestMetadata {
  return { key: idempotencyKey(headers), trace };
}
