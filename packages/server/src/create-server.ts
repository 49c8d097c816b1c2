import { createHash, randomBytes } from 'node:crypto';
import type { SpanExporter } from '@millrace/agent';
import { assertOptionNames, type Ids, type OptionNames, randomIds } from '@millrace/core';
import { type Clock, type Log, memoryLog, systemClock } from '@millrace/log';
import type { IncomingRequest, RequestAccess } from './contract/http.ts';
import type { Rows } from './contract/rows.ts';
import type { ServedAgent } from './contract/served-agent.ts';
import { diagnosticLine, errorReason, ServerError } from './contract/server-error.ts';
import { isLoopback } from './http/access/host-and-origin.ts';
import { TokenStore } from './http/access/token-store.ts';
import { defaultHttpLimits, type HttpLimits } from './http/http-limits.ts';
import {
  type HandlerOptions,
  HttpServer,
  type ListenOptions,
  type NodeHandler,
} from './http/http-server.ts';
import { RequestLog, type RequestLogOptions } from './http/request-log.ts';
import { AgentNetwork } from './network/agent-network.ts';
import { readLimits } from './read-limits.ts';
import type { A2aOptions } from './routes/a2a/contract.ts';
import { PushNotifier } from './routes/a2a/push/push-notifier.ts';
import type { McpOptions } from './routes/mcp/mcp-options.ts';
import { createTaskStreams } from './routes/task-streams.ts';
import { memoryRows } from './rows/memory-rows.ts';
import { isFound } from './stores/row-access.ts';
import { defaultStreamLimits, type StreamLimits } from './stream/stream-limits.ts';
import { createTaskService } from './tasks/create-task-service.ts';
import type { ServedSessions } from './tasks/served-sessions.ts';

/** Options of `createServer`. */
export interface ServerOptions {
  /**
   * The agents that run in this process. Agents in different processes can register themselves later.
   * Default: none.
   */
  readonly agents?: readonly ServedAgent[] | undefined;
  /** The store of the sessions. Default: a store in memory. The caller must close a log that it passes in. */
  readonly log?: Log | undefined;
  /**
   * The store of agents, tasks, states, spans, trackers and tokens. Default: a store in memory. The caller
   * must close a store that it passes in.
   */
  readonly rows?: Rows | undefined;
  /**
   * Bearer tokens with full access. Each token has at least 32 characters. `createToken()` creates one. With
   * `'none'`, no request needs a token: every user of this machine can use and change everything. A server
   * without tokens can listen only on loopback, and answers only requests from this machine. Required.
   */
  readonly tokens: readonly string[] | 'none';
  /**
   * The secret from which the API keys of remote agents are derived. If the secret changes, these keys become
   * invalid. Default: derived from `tokens`. With `tokens: 'none'`, the default is a new secret at each
   * start.
   */
  readonly secret?: string | undefined;
  /**
   * The networks in which remote agents may run: `loopback`, `private`, `public`, and networks such as
   * `10.1.0.0/16`. The server checks the address of each connection. It never connects to cloud metadata
   * services, link-local addresses or multicast addresses. Default: `public`, and also `loopback` if the
   * server listens on loopback.
   */
  readonly agentNetworks?: readonly string[] | undefined;
  /** Host names that the server accepts, in addition to localhost and IP addresses. Default: none. */
  readonly hosts?: readonly string[] | undefined;
  /** Web origins whose pages may call the server, in addition to the server's own origin. Default: none. */
  readonly origins?: readonly string[] | undefined;
  /**
   * The path at which the server is mounted, for example `/api/agents`. Requests to other paths get
   * `not_found`. Default: the root.
   */
  readonly basePath?: string | undefined;
  /**
   * Authorizes a request without a token, for example with the session cookie of your application. It
   * returns the user and the user's rights, or undefined to refuse the request. Default: a request needs a
   * token. With `tokens: 'none'`, a request must come from this machine. The server calls it again every 15 s
   * for each open stream, with the request that opened the stream. It closes the stream if the result is
   * undefined, or has another user or scope.
   */
  readonly authorize?:
    | ((request: IncomingRequest) => RequestAccess | undefined | Promise<RequestAccess | undefined>)
    | undefined;
  /**
   * Returns the address of the client, for rate limits and the request log. Set it if the server is behind a
   * proxy that you trust, or if you use `fetch`, which has no connection. Default: the address of the
   * connection.
   */
  readonly clientAddress?: ((request: IncomingRequest) => string | undefined) | undefined;
  /**
   * The proxies in front of the server: `loopback`, `private`, addresses such as `10.1.2.3`, and networks
   * such as `10.1.0.0/16`. For requests from these addresses, the server reads `X-Forwarded-For`,
   * `X-Forwarded-Host` and `X-Forwarded-Proto`. It uses them for rate limits, the request log, `hosts`, the check
   * of origins, and links to the server.
   * Default: none; these headers then have no effect.
   */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * The folder of a built web page. The server serves it at `/` and below `/app/`, both relative to
   * `basePath`. Default: none.
   */
  readonly page?: string | undefined;
  /** Limits for HTTP requests. Default: `defaultHttpLimits`. */
  readonly limits?: Partial<HttpLimits> | undefined;
  /** Limits for streams. Default: `defaultStreamLimits`. */
  readonly streamLimits?: Partial<StreamLimits> | undefined;
  /**
   * Logs one line per request, retry, failed tool call and failed run. The lines contain no content. Default:
   * off.
   */
  readonly requestLog?: RequestLogOptions | undefined;
  /**
   * Receives descriptions of unexpected events that do not affect a result, and the messages of errors that handlers
   * of sync and async agents throw. Clients do not get these messages. Only they can contain content. Each is one
   * line without control characters. Default: these events are ignored.
   */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
  /**
   * Receives the spans of requests, runs and handlers, for example `otlpExporter({ url })`. Default: no
   * spans. The server forwards the trace of a request even without an exporter.
   */
  readonly exporter?: SpanExporter | undefined;
  /**
   * The prompts and resources that the endpoint `/mcp` offers to clients of the Model Context Protocol. The
   * agents and the sessions are offered in any case. Default: nothing more.
   */
  readonly mcp?: McpOptions | undefined;
  /**
   * The data that the endpoints for A2A show about the agents: the main agent, the address and the access to cards.
   * Default: see `A2aOptions`.
   */
  readonly a2a?: A2aOptions | undefined;
  /** The source of time. Tests can replace it. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Creates ids. Tests can replace it. Default: random ids. */
  readonly ids?: Ids | undefined;
  /**
   * Returns a random number from 0 up to 1. It spreads the scans for orphaned runs, so that several servers
   * do not scan at the same time. Default: `Math.random`.
   */
  readonly random?: (() => number) | undefined;
}

/** The server that `createServer` returns. */
export interface Server {
  /** Starts to listen, resumes orphaned runs, and returns the server's URL. */
  listen(options?: ListenOptions): Promise<{ readonly url: string }>;
  /**
   * Answers a request of the Fetch API. Use it with Next.js, Hono, TanStack Start, Bun, Deno and others. All
   * checks and limits apply. The server produces a stream only as fast as the client reads it, and ends it
   * when the request is aborted. The first request starts the server, which resumes orphaned runs. The
   * function ignores further arguments, so it can be a route handler.
   */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Returns a handler for Node's HTTP server and for frameworks that use it, such as Express. All checks
   * and limits apply.
   */
  handler(options?: HandlerOptions): NodeHandler;
  /** Serves sessions that other programs created on the log, and transfers their runs between processes. */
  readonly sessions: ServedSessions;
  /**
   * Closes the server. The server refuses new work, stops or suspends current work, and ends streams with a
   * hint to reconnect.
   */
  close(): Promise<void>;
}

/**
 * Creates a server that serves agents over HTTP and SSE. It runs in one process and needs no other service.
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
  const { mcp = {}, a2a = {} } = options;
  assertKnownOptions('createServer: mcp', mcp, {
    ...{ instructions: true, prompts: true, resources: true },
  });
  assertKnownOptions('createServer: a2a', a2a, {
    ...{ agent: true, url: true, publicCards: true, pushNetworks: true, version: true },
  });
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
    ...(logged !== undefined && { logEvent: new RequestLog(logged, clock).event }),
  });
  const push = new PushNotifier({
    ...{ rows, log, clock, tokens, onDiagnostic },
    network: new AgentNetwork(a2a.pushNetworks ?? ['public'], { option: 'a2a.pushNetworks' }),
    hasSession: (id) => isFound(service.tasks.get({ id })),
  });
  const streams = createTaskStreams({ log, clock, service, limits: streamLimits });
  const { hosts, origins, page, requestLog, exporter } = options;
  const { basePath, authorize, clientAddress, trustedProxies } = options;
  const startAll = async () => {
    await service.start();
    await push.start();
  };
  const ready = once(() =>
    startAll().catch((error: unknown) => {
      onDiagnostic?.(diagnosticLine(`Cannot start the server: ${errorReason(error)}`));
      throw error;
    }),
  );
  const readyForRequests = () =>
    ready().catch((error: unknown) => {
      throw notStarted(error);
    });
  const http = new HttpServer({
    ...{ service, streams, tokens, log, clock, hosts, origins, page, limits, requestLog },
    ...{ exporter, basePath, authorize, clientAddress, trustedProxies, ready: readyForRequests },
    stallTimeoutMs: streamLimits.stallTimeoutMs,
    storage: service.storage,
    ...{ mcp, a2a, push },
  });
  return {
    fetch: (request) => http.fetch(request),
    sessions: service.sessions,
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
      push.close();
      await http.close(() => service.close());
      // The server closes only stores that it created. The caller closes its own stores.
      if (options.log === undefined) await log.close();
      if (options.rows === undefined) await rows.close();
    },
  };
}

/**
 * Returns a function that starts the work at its first call. All callers get the same promise. If the work
 * failed, the next call starts it again.
 */
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

/**
 * Returns the error for requests while the server cannot start. It hides the code of the cause, because a
 * client would misunderstand it. For example, a client gives up after `not_found`.
 */
function notStarted(cause: unknown): ServerError {
  // Only the message of a `ServerError` may reach clients.
  const reason = cause instanceof ServerError ? cause.message : 'it could not start. Try again';
  const message = `The server is not ready: ${reason}`;
  return new ServerError('unavailable', message, {}, { cause, retryAfterMs: 1000 });
}

/**
 * Returns the maximum time to wait for stopped work, in milliseconds. The rest of `closeTimeoutMs` remains
 * for writing the results.
 */
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

/** The names of all options. Other names are refused. */
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
  trustedProxies: true,
  page: true,
  limits: true,
  streamLimits: true,
  requestLog: true,
  onDiagnostic: true,
  exporter: true,
  mcp: true,
  a2a: true,
  clock: true,
  ids: true,
  random: true,
};

/** Returns the error for missing tokens. TypeScript requires them, but callers without types can omit them. */
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
