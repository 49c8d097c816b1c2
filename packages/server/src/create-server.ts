import { createHash, randomBytes } from 'node:crypto';
import type { SpanExporter } from '@millrace/agent';
import { assertOptionNames, type Ids, type OptionNames, randomIds } from '@millrace/core';
import { type Clock, type Log, memoryLog, systemClock } from '@millrace/log';
import type { IncomingRequest, RequestAccess } from './contract/http.ts';
import type { Rows } from './contract/rows.ts';
import type { ServedAgent } from './contract/served-agent.ts';
import { ServerError } from './contract/server-error.ts';
import { isLoopback } from './http/access/host-and-origin.ts';
import { TokenStore } from './http/access/token-store.ts';
import { defaultHttpLimits, type HttpLimits } from './http/http-limits.ts';
import {
  type HandlerOptions,
  HttpServer,
  type ListenOptions,
  type NodeHandler,
} from './http/http-server.ts';
import type { RequestLogOptions } from './http/request-log.ts';
import { AgentNetwork } from './network/agent-network.ts';
import { readLimits } from './read-limits.ts';
import { createTaskStreams } from './routes/task-streams.ts';
import { memoryRows } from './rows/memory-rows.ts';
import { defaultStreamLimits, type StreamLimits } from './stream/stream-limits.ts';
import { createTaskService } from './tasks/create-task-service.ts';

/** Options of `createServer`. */
export interface ServerOptions {
  /** The agents of this process. Other processes can register remote agents. Default: none. */
  readonly agents?: readonly ServedAgent[] | undefined;
  /** Stores the sessions. Default: in memory. The caller must close a log that it passes in. */
  readonly log?: Log | undefined;
  /**
   * Stores agents, tasks, states, spans, trackers and tokens. Default: in memory. The caller must
   * close a store that it passes in.
   */
  readonly rows?: Rows | undefined;
  /**
   * Bearer tokens with full access. Each has at least 32 characters; `createToken()` makes one.
   * `'none'`: no request needs a token, so every user of this machine can use and change
   * everything. A server without tokens can listen on loopback only, and answers only requests from
   * this machine. Required.
   */
  readonly tokens: readonly string[] | 'none';
  /**
   * The secret that the API keys of remote agents are derived from. The keys stay valid while it
   * stays the same. Default: derived from `tokens`; with `'none'`, a new secret at each start.
   */
  readonly secret?: string | undefined;
  /**
   * Where remote agents may be: `loopback`, `private`, `public`, and networks such as
   * `10.1.0.0/16`. The server checks the address of each connection. Metadata services of clouds,
   * link-local and multicast addresses are never allowed. Default: `public`, and `loopback` if the
   * server listens on loopback.
   */
  readonly agentNetworks?: readonly string[] | undefined;
  /** Host names that the server accepts, besides localhost and IP addresses. Default: none. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of other hosts whose pages may call the server. Default: none. */
  readonly origins?: readonly string[] | undefined;
  /**
   * The path that the server is mounted at, for example `/api/agents`. Requests to other paths are not
   * found. Default: the root.
   */
  readonly basePath?: string | undefined;
  /**
   * Authorizes a request without a token, for example by the session cookie of your application. It
   * returns who sent the request and what the user may do, or undefined to refuse it. Default: a
   * request needs a token; with `tokens: 'none'`, it must come from this machine.
   */
  readonly authorize?:
    | ((request: IncomingRequest) => RequestAccess | undefined | Promise<RequestAccess | undefined>)
    | undefined;
  /**
   * Returns the address of the client, for limits and the request log. Use it behind a proxy that you
   * trust, and with `fetch`, which does not know the connection. Default: the other end of the
   * connection.
   */
  readonly clientAddress?: ((request: IncomingRequest) => string | undefined) | undefined;
  /**
   * Folder of a built web page, served at `/` and below `/app/`. It needs the root, so it excludes
   * `basePath`. Default: none.
   */
  readonly page?: string | undefined;
  /** Limits for HTTP requests. Default: `defaultHttpLimits`. */
  readonly limits?: Partial<HttpLimits> | undefined;
  /** Limits for streams. Default: `defaultStreamLimits`. */
  readonly streamLimits?: Partial<StreamLimits> | undefined;
  /** Logs one line per request. Default: off. */
  readonly requestLog?: RequestLogOptions | undefined;
  /**
   * Receives descriptions of irregular events that have no effect. They never contain content.
   * Default: ignored.
   */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
  /**
   * Receives the spans of requests, runs and handlers, for example `otlpExporter({ url })`.
   * Default: no spans. The trace of a request is passed on in any case.
   */
  readonly exporter?: SpanExporter | undefined;
  /** The source of time, for tests. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Creates ids, for tests. Default: random ids. */
  readonly ids?: Ids | undefined;
  /**
   * Returns a number from 0 up to 1. It spreads the scans for orphaned runs of several servers.
   * Default: `Math.random`.
   */
  readonly random?: (() => number) | undefined;
}

/** A server that was created by `createServer`. */
export interface Server {
  /** Starts to listen, resumes orphaned runs, and returns the server's URL. */
  listen(options?: ListenOptions): Promise<{ readonly url: string }>;
  /**
   * Answers a request of the Fetch API, for Next.js, Hono, TanStack Start, Bun, Deno and others. All
   * checks and limits apply. The body of a stream follows the pace of its reader, and ends when the
   * request is aborted. The first request starts the server: it resumes orphaned runs. Further
   * arguments are ignored, so it can be a route handler itself.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Creates a handler for Node's HTTP server and frameworks that use it, such as Express. All checks
   * and limits apply.
   */
  handler(options?: HandlerOptions): NodeHandler;
  /**
   * Stops accepting work, stops or parks current work, and ends streams with a hint to reconnect.
   */
  close(): Promise<void>;
}

/**
 * Creates a server that serves agents over HTTP and SSE. It runs in one process and needs no other
 * service.
 *
 * @example
 * const server = createServer({
 *   tokens: [createToken()],
 *   agents: [
 *     {
 *       type: 'sync',
 *       name: 'weather',
 *       onMessage: async () => ({ type: 'text', author: 'agent', content: 'Sunny, 21 °C' }),
 *     },
 *   ],
 * });
 * const { url } = await server.listen({ port: 0 });
 */
export function createServer(options: ServerOptions): Server {
  assertKnownOptions('createServer', options, optionNames);
  const { requestLog: logged } = options;
  const limits = readLimits('limits', options.limits, defaultHttpLimits);
  const streamLimits = readLimits('streamLimits', options.streamLimits, defaultStreamLimits);
  if (logged !== undefined)
    assertKnownOptions('createServer: requestLog', logged, { format: true, write: true });
  const {
    agents = [],
    tokens: operatorTokens,
    clock = systemClock,
    onDiagnostic,
    random,
  } = options;
  const log = options.log ?? memoryLog({ clock });
  const rows = options.rows ?? memoryRows({ clock });
  const ids = options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes));
  if (operatorTokens === undefined) throw tokensMissing();
  const secret = options.secret ?? deriveSecret(operatorTokens);
  const network = new AgentNetwork(options.agentNetworks ?? ['public']);
  const tokens = new TokenStore(rows, operatorTokens, clock);
  const service = createTaskService({
    network,
    onTokenRevoked: (id) => tokens.reportRevoked(id),
    ...{ agents, log, rows, clock, ids, random, secret, onDiagnostic },
    isGuarded: operatorTokens !== 'none',
    graceMs: graceMsFor(limits),
    exporter: options.exporter,
  });
  const streams = createTaskStreams({ log, clock, service, limits: streamLimits });
  const { hosts, origins, page, requestLog, exporter } = options;
  const { basePath, authorize, clientAddress } = options;
  const ready = once(() => service.start());
  const http = new HttpServer({
    ...{ service, streams, tokens, log, clock, hosts, origins, page, limits, requestLog },
    ...{ exporter, basePath, authorize, clientAddress, ready, storage: service.storage },
  });
  return {
    fetch: (request) => http.fetch(request),
    handler: (handlerOptions = {}) => {
      assertKnownOptions('server.handler', handlerOptions, { basePath: true });
      return http.handler(handlerOptions);
    },
    async listen(address = {}) {
      assertKnownOptions('server.listen', address, { port: true, host: true });
      if (options.agentNetworks === undefined && isLoopback(address?.host ?? '127.0.0.1'))
        network.allow('loopback');
      await ready();
      return http.listen(address);
    },
    async close() {
      await http.close(() => service.close());
      // The caller closes stores that it passed in.
      if (options.log === undefined) await log.close();
      if (options.rows === undefined) await rows.close();
    },
  };
}

/** Runs the work at the first call. All callers get its promise. After a failure it runs again. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

/** Work that does not stop is abandoned early enough to write the rest before the server closes. */
function graceMsFor({ closeTimeoutMs }: HttpLimits): number {
  return Math.min(1000, closeTimeoutMs / 4);
}

function assertKnownOptions<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new ServerError('invalid', message, { of, option });
  });
}

/** Callers without types can omit the tokens. */
const optionNames: OptionNames<ServerOptions> = {
  agents: true,
  log: true,
  rows: true,
  tokens: true,
  secret: true,
  agentNetworks: true,
  hosts: true,
  origins: true,
  basePath: true,
  authorize: true,
  clientAddress: true,
  page: true,
  limits: true,
  streamLimits: true,
  requestLog: true,
  onDiagnostic: true,
  exporter: true,
  clock: true,
  ids: true,
  random: true,
};

function tokensMissing(): ServerError {
  const message =
    "Cannot create a server without `tokens`. Set it to [createToken()], or to 'none' if every user of this machine may use the agents";
  return new ServerError('invalid', message);
}

function deriveSecret(tokens: ServerOptions['tokens']): string {
  if (tokens === 'none') return randomBytes(32).toString('base64url');
  const hash = createHash('sha256').update('agent keys');
  for (const token of tokens) hash.update('\0').update(token);
  return hash.digest('base64url');
}
