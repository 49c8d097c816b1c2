import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@millrace/log';
import type { Grant } from '../../contract/service.ts';
import { restrictedName } from './fair-share.ts';
import { bodyMemory, headMemory, UnknownMemory } from './unknown-memory.ts';

/** The caller of a request: its name, and the rights that it has. */
interface RequestCaller {
  readonly caller: string;
  readonly grant: Pick<Grant, 'scope' | 'expiresAt'>;
}

/** The connections whose last request came from a caller that the server has accepted. */
const admittedConnections = new WeakSet<object>();
/** Called when the server accepts the caller of a connection. */
const admissions = new WeakMap<object, () => void>();
/** The limit that applies to a connection. */
const limits = new WeakMap<object, ConnectionLimit>();

/** Returns true if the server has accepted the caller of the last request of a connection. */
export function isAdmitted(socket: object): boolean {
  return admittedConnections.has(socket);
}

/** Notes that the server has accepted the caller of a request, so its connection keeps its place. */
export function admitConnection(source: IncomingMessage | Request, by?: RequestCaller): void {
  if (!('socket' in source)) return;
  admittedConnections.add(source.socket);
  if (by !== undefined) limits.get(source.socket)?.admit(source, by);
  const onAdmitted = admissions.get(source.socket);
  admissions.delete(source.socket);
  onAdmitted?.();
}

/** Calls a function when the server accepts the caller of a connection. It replaces an earlier function. */
export function onceAdmitted(socket: Socket, onAdmitted: () => void): void {
  admissions.set(socket, onAdmitted);
}

/** Returns the name of the resources that the caller of a connection can access. Undefined for full access. */
export function restrictedOf(socket: Socket): string | undefined {
  return limits.get(socket)?.restrictedOf(socket);
}

/** Notes the memory of the received bytes of a connection that belong to no request yet. */
export function noteReceived(socket: Socket, bytes: number): void {
  limits.get(socket)?.receive(socket, bytes);
}

/** An open connection. */
interface Connection {
  readonly socket: Socket;
  /** The number of requests that are not answered. */
  requests: number;
  /** The memory of the received bytes that belong to no request yet. */
  receivedBytes: number;
  /** The estimated memory of the requests that have not arrived completely or are not answered. */
  requestBytes: number;
  /** The request whose caller the server has accepted, until it is answered. */
  accepted?: IncomingMessage | undefined;
  /**
   * The name of the caller of the connection. Undefined if the server has not accepted the caller of the last
   * request.
   */
  caller?: string | undefined;
}

interface AdmittedCaller {
  /** The name of the resources that the caller can access. Undefined for full access. */
  readonly restricted: string | undefined;
  readonly expiresAt: number | null;
  /** The connection whose last accepted request is the oldest one comes first. */
  readonly connections: Set<Connection>;
}

/**
 * Limits the number of open connections. At the limit, a new connection takes the place of another one, in this
 * order:
 *
 * 1. the oldest connection whose caller the server has not accepted. Without this rule, a client without a token
 *    could hold all connections.
 * 2. a connection of the caller without full access that has the most connections. An idle one comes first.
 *    Without this rule, a client with few rights could hold all connections.
 *
 * If all connections have callers with full access, the server closes the new connection. A caller counts as
 * accepted until its token is revoked or expires, or until the server answers a request of the connection
 * without accepting its caller. A client could otherwise keep its connections with requests that need no token.
 */
export class ConnectionLimit {
  #maxConnections: number;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #open = new Map<Socket, Connection>();
  /** The connections whose callers are unknown, the oldest one first. */
  readonly #unknown = new Set<Connection>();
  readonly #callers = new Map<string, AdmittedCaller>();
  readonly #unknownMemory = new UnknownMemory();

  constructor(maxConnections: number, clock: Pick<Clock, 'now'>) {
    this.#maxConnections = maxConnections;
    this.#clock = clock;
  }

  /** Lowers the limit to this number, if it is higher. */
  lowerTo(maxConnections: number): void {
    this.#maxConnections = Math.min(this.#maxConnections, maxConnections);
  }

  /** Applies the limit to the connections of a server. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.#add(socket));
    server.on('request', (request, response) => {
      const connection = this.#open.get(request.socket);
      if (connection === undefined) return;
      connection.requests++;
      const [head, body] = [headMemory(request), bodyMemory(request)];
      this.#changeMemory(connection, head + body);
      response.once('close', () => {
        connection.requests--;
        this.#changeMemory(connection, -body);
        const release = () => this.#changeMemory(connection, -head);
        if (request.complete) release();
        else request.once('end', release);
        if (connection.accepted !== request) this.#forget(connection);
        connection.accepted = undefined;
      });
    });
  }

  restrictedOf(socket: Socket): string | undefined {
    return this.#callers.get(this.#open.get(socket)?.caller ?? '')?.restricted;
  }

  /** Notes the memory of the received bytes of a connection that belong to no request yet. */
  receive(socket: Socket, bytes: number): void {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.receivedBytes === bytes) return;
    connection.receivedBytes = bytes;
    this.#countMemory(connection);
  }

  #changeMemory(connection: Connection, bytes: number): void {
    connection.requestBytes += bytes;
    this.#countMemory(connection);
  }

  /** Counts the memory of a connection if its caller is unknown. */
  #countMemory(connection: Connection): void {
    const { socket, receivedBytes, requestBytes } = connection;
    const isUnknown = this.#unknown.has(connection);
    this.#unknownMemory.set(socket, isUnknown ? receivedBytes + requestBytes : 0);
  }

  /** Notes the accepted caller of a request. */
  admit(request: IncomingMessage, { caller, grant }: RequestCaller): void {
    const connection = this.#open.get(request.socket);
    if (connection === undefined) return;
    this.#leave(connection);
    const connections = this.#callers.get(caller)?.connections ?? new Set();
    connections.add(connection);
    const { expiresAt } = grant;
    // The rights of a user can change, so the last rights count.
    this.#callers.set(caller, { restricted: restrictedName(grant), expiresAt, connections });
    connection.accepted = request;
    connection.caller = caller;
    this.#countMemory(connection);
  }

  /** Ends what `admit` noted for a caller, for example because its token was revoked. */
  endAdmissions(caller: string): void {
    for (const connection of this.#callers.get(caller)?.connections ?? []) this.#forget(connection);
    this.#callers.delete(caller);
  }

  #add(socket: Socket): void {
    if (this.#open.size >= this.#maxConnections) {
      const replaced = this.#findReplaceable();
      if (replaced === undefined) return void socket.destroy();
      this.#remove(replaced);
      replaced.socket.destroy();
    }
    const connection: Connection = { socket, requests: 0, receivedBytes: 0, requestBytes: 0 };
    this.#open.set(socket, connection);
    this.#unknown.add(connection);
    limits.set(socket, this);
    socket.once('close', () => this.#remove(connection));
  }

  /** Returns the connection whose place a new one takes. */
  #findReplaceable(): Connection | undefined {
    if (this.#unknown.size === 0) this.#endExpired();
    const [oldest] = this.#unknown;
    if (oldest !== undefined) return oldest;
    const counts = new Map<string, number>();
    for (const { restricted, connections } of this.#callers.values())
      if (restricted !== undefined)
        counts.set(restricted, (counts.get(restricted) ?? 0) + connections.size);
    const [name] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0]);
    let busy: Connection | undefined;
    for (const { restricted, connections } of this.#callers.values()) {
      if (restricted !== name) continue;
      for (const connection of connections) {
        if (connection.requests === 0) return connection;
        busy ??= connection;
      }
    }
    return busy;
  }

  #endExpired(): void {
    const now = this.#clock.now();
    for (const [caller, { expiresAt }] of this.#callers)
      if (expiresAt !== null && expiresAt <= now) this.endAdmissions(caller);
  }

  /** Notes that the caller of a connection is no longer known. */
  #forget(connection: Connection): void {
    if (connection.caller === undefined) return;
    this.#leave(connection);
    admittedConnections.delete(connection.socket);
    this.#unknown.add(connection);
    this.#countMemory(connection);
  }

  #remove(connection: Connection): void {
    this.#leave(connection);
    this.#unknown.delete(connection);
    this.#open.delete(connection.socket);
    this.#countMemory(connection);
  }

  /** Removes a connection from the connections of its caller. */
  #leave(connection: Connection): void {
    this.#unknown.delete(connection);
    const { caller } = connection;
    if (caller === undefined) return;
    const connections = this.#callers.get(caller)?.connections;
    connections?.delete(connection);
    if (connections?.size === 0) this.#callers.delete(caller);
    connection.caller = undefined;
  }
}
