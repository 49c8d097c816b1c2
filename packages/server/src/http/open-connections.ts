import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@millrace/log';
import type { HttpResponse } from '../contract/http.ts';
import { ServerError } from '../contract/server-error.ts';
import type { Grant } from '../contract/service.ts';
import { isAdmitted } from './access/connection-limit.ts';
import { bodyMemory, headMemory } from './access/unknown-memory.ts';
import { type IsUserAdmitted, UserChecks } from './access/user-checks.ts';

const maxTimerMs = 2 ** 31 - 1;

/** Time between two checks whether the callers of open streams are still admitted, in milliseconds. */
const checkEveryMs = 5000;

/**
 * Maximum number of streams with the stored content of a run that a caller without full access can have. One
 * such stream can need many megabytes.
 */
const maxReplays = 64;

/** The caller of a streamed reply. */
interface StreamCaller {
  readonly caller: string;
  readonly response: HttpResponse;
  readonly grant: Pick<Grant, 'expiresAt'>;
  /** Undefined if the caller is not a user of `authorize`. */
  readonly isUserAdmitted?: IsUserAdmitted | undefined;
}

/** Returns false if a caller is no longer admitted, for example because its token was revoked. */
type IsAdmitted = (caller: string) => Promise<boolean>;

/**
 * The open streamed replies of each caller. This class limits their number. It closes them when a token is
 * revoked or expires, and when the application no longer admits a user. Another server can revoke a token too,
 * so the class checks the callers at intervals.
 */
export class OpenStreams {
  readonly #maxPerCaller: number;
  readonly #clock: Clock;
  readonly #isAdmitted: IsAdmitted;
  readonly #byCaller = new Map<string, Set<HttpResponse>>();
  /** The number of open replays of each restricted caller. */
  readonly #replays = new Map<string, number>();
  readonly #users: UserChecks;
  #isChecking = false;

  constructor(maxPerCaller: number, clock: Clock, isAdmitted: IsAdmitted) {
    this.#maxPerCaller = maxPerCaller;
    this.#clock = clock;
    this.#isAdmitted = isAdmitted;
    this.#users = new UserChecks(clock);
  }

  /**
   * Counts a replay of a caller without full access, by the name of its resources. Throws `rate_limited` if
   * there are too many of them.
   */
  takeReplay(caller: string, response: HttpResponse): void {
    const open = this.#replays.get(caller) ?? 0;
    if (open >= maxReplays) {
      const message = `Cannot open another stream of this kind: a caller can have ${maxReplays} of them. Close one first`;
      throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
    }
    this.#replays.set(caller, open + 1);
    response.once('close', () => {
      const left = (this.#replays.get(caller) ?? 1) - 1;
      if (left > 0) this.#replays.set(caller, left);
      else this.#replays.delete(caller);
    });
  }

  /** Throws `rate_limited` if the caller already has the maximum number of open streams. */
  assertCapacity(caller: string): void {
    if ((this.#byCaller.get(caller)?.size ?? 0) < this.#maxPerCaller) return;
    const message = `Cannot open another stream: a caller can have ${this.#maxPerCaller} open streams. Close one first`;
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
  }

  /**
   * Counts a stream until its connection closes. The stream is closed when the caller's token expires, and when
   * the application no longer admits the user of its request.
   */
  add({ caller, response, grant, isUserAdmitted }: StreamCaller): void {
    const { expiresAt } = grant;
    if (isUserAdmitted !== undefined) this.#users.watch(response, isUserAdmitted);
    const open = this.#byCaller.get(caller) ?? new Set();
    this.#byCaller.set(caller, open.add(response));
    this.#checkLater();
    const cancel = expiresAt === null ? undefined : this.#closeAt(response, expiresAt);
    response.once('close', () => {
      cancel?.();
      open.delete(response);
      if (open.size === 0 && this.#byCaller.get(caller) === open) this.#byCaller.delete(caller);
    });
  }

  /**
   * Closes a response at the given time. A timer can wait at most 24 days, so a longer wait has several
   * steps.
   */
  #closeAt(response: HttpResponse, at: number): () => void {
    let cancel = () => {};
    const wait = () => {
      const leftMs = at - this.#clock.now();
      if (leftMs <= 0) response.destroy();
      else cancel = this.#clock.after(Math.min(leftMs, maxTimerMs), wait, { isIdle: true });
    };
    wait();
    return () => cancel();
  }

  /** Every 5 s, checks whether the callers are still admitted. The checks stop when no stream is open. */
  #checkLater(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const check = async () => {
      for (const caller of [...this.#byCaller.keys()]) {
        // If the store fails, the caller stays connected until the next check.
        if (!(await this.#isAdmitted(caller).catch(() => true))) this.disconnect(caller);
      }
      this.#isChecking = false;
      if (this.#byCaller.size > 0) this.#checkLater();
    };
    this.#clock.after(checkEveryMs, () => void check(), { isIdle: true });
  }

  /** Closes all streams of a caller. */
  disconnect(caller: string): void {
    for (const response of this.#byCaller.get(caller) ?? []) response.destroy();
  }
}

/** Maximum number of requests that a connection can send before the first of them is answered. */
export const maxRequestsAhead = 100;

/**
 * Maximum number of requests sent ahead that the server starts in one turn of the event loop: on connections whose
 * callers the server has accepted, and on all other connections.
 */
const maxStartsPerTurn = { admitted: 20, unknown: 5 };

/**
 * Maximum memory, in bytes, of all requests sent ahead: on connections whose callers the server has accepted, and
 * on all other connections. Clients without a token cannot use up the memory for the others.
 */
const maxAheadBytes = { admitted: 32 * 2 ** 20, unknown: 8 * 2 ** 20 };

/** The requests of one connection that wait for the answer to an earlier request. */
interface WaitingRequests {
  count: number;
  /** Their memory in bytes. */
  readonly bytes: Record<keyof typeof maxAheadBytes, number>;
}

/** A request whose answer can start now. */
interface ReadyRequest {
  readonly response: ServerResponse;
  readonly answer: () => void;
}

/**
 * Answers the requests of each connection one after the other. Browsers and HTTP libraries wait for an answer
 * before they send the next request. A client that sends requests and does not read the answers would
 * otherwise keep the server busy and fill its memory. If it sends too many of them, its connection is closed.
 *
 * Node decides which request is next: it gives the connection to a response when all earlier requests are answered.
 * A framework can call the handler in another order, for example because it reads the bodies first. It can also answer
 * some requests itself.
 */
export class RequestsAhead {
  readonly #waiting = new Map<Socket, WaitingRequests>();
  /** The memory of all requests that wait, in bytes. */
  readonly #bytes = { admitted: 0, unknown: 0 };
  readonly #ready: Readonly<Record<keyof typeof maxStartsPerTurn, ReadyRequest[]>> = {
    admitted: [],
    unknown: [],
  };
  #isScheduled = false;

  /** Calls `answer` when all earlier requests of the connection are answered. */
  add(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const { socket } = request;
    // The answers of HTTP/2 do not wait for each other.
    if (request.httpVersionMajor > 1 || response.socket !== null) return answer();
    // A framework can have answered a request that waited.
    if (socket.destroyed || response.writableFinished || response.destroyed) return;
    // Some frameworks create requests and responses without a connection, for example in functions of a cloud. Nothing
    // would ever give a connection to such a response.
    if (!hasCurrentResponse(socket)) return answer();
    const kind = isAdmitted(socket) ? 'admitted' : 'unknown';
    const bytes = headMemory(request) + bodyMemory(request);
    const waiting = this.#waiting.get(socket) ?? this.#watch(socket);
    const isFull = this.#bytes[kind] + bytes > maxAheadBytes[kind];
    if (isFull || waiting.count + 1 >= maxRequestsAhead) return void socket.destroy();
    waiting.count++;
    waiting.bytes[kind] += bytes;
    this.#bytes[kind] += bytes;
    response.once('socket', () => {
      waiting.count--;
      waiting.bytes[kind] -= bytes;
      this.#bytes[kind] -= bytes;
      this.#ready[isAdmitted(socket) ? 'admitted' : 'unknown'].push({ response, answer });
      this.#schedule();
    });
  }

  /** Starts to count the waiting requests of a connection. */
  #watch(socket: Socket): WaitingRequests {
    const waiting = { count: 0, bytes: { admitted: 0, unknown: 0 } };
    this.#waiting.set(socket, waiting);
    socket.once('close', () => {
      this.#waiting.delete(socket);
      this.#bytes.admitted -= waiting.bytes.admitted;
      this.#bytes.unknown -= waiting.bytes.unknown;
    });
    return waiting;
  }

  /** Starts requests in a later turn of the event loop, so that timers, streams and other clients run before. */
  #schedule(): void {
    const { admitted, unknown } = this.#ready;
    if (this.#isScheduled || admitted.length + unknown.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const starting = [
        ...admitted.splice(0, maxStartsPerTurn.admitted),
        ...unknown.splice(0, maxStartsPerTurn.unknown),
      ];
      for (const { response, answer } of starting)
        if (!response.writableFinished && !response.destroyed) answer();
      this.#schedule();
    });
  }
}

/** Returns true if Node has given a connection to a response. Node notes this response in the connection. */
function hasCurrentResponse(socket: Socket): boolean {
  const { _httpMessage } = socket as Socket & { readonly _httpMessage?: unknown };
  return _httpMessage !== null && _httpMessage !== undefined;
}

/**
 * The connections that have not sent any bytes yet. Browsers and HTTP clients open connections in advance.
 * Node does not count them as idle, so a server that closes would wait for them.
 */
export class UnusedConnections {
  readonly #sockets = new Set<Socket>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket) => {
      if (this.#isClosing) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('request', ({ socket }) => this.#sockets.delete(socket));
  }

  /** Closes these connections and all connections that open later. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
