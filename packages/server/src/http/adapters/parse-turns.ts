import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { joinSmallChunks } from '../../network/join-chunks.ts';
import { isAdmitted } from '../access/connection-limit.ts';

/**
 * Maximum number of bytes that Node parses before the state of the connection is checked. The first slice is
 * smaller, because its cost is unknown.
 */
const sliceBytes = { first: 1024, next: 4096 };

/** Time after which the rest of the received bytes of a connection waits for a later turn, in milliseconds. */
const maxParseMs = 1;

/** Maximum time for the bytes of all connections in one turn of the event loop, in milliseconds. */
const maxTurnMs = 10;

/**
 * The limits of each connection after `maxTurnMs` is over. They are enough for one usual request. Thousands of
 * connections can send bytes in one turn of the event loop.
 */
const late = { sliceBytes: 256, maxParseMs: 0.25 };

/**
 * Maximum number of connections whose bytes wait: connections whose callers the server has accepted, and all other
 * connections. Each of them holds at most about 128 KiB.
 */
const maxWaiting = { admitted: 256, unknown: 128 };

interface Connection {
  /** The size of the slice that Node parses. */
  sliceBytes: number;
  /** The next bytes that certainly belong to a body whose length is known. They need no slices. */
  bodyBytes: number;
  /** The length of the body of the last request, or 0 if it is unknown. */
  bodyLength: number;
  /** The number of requests that Node has parsed. */
  requests: number;
  /** True if it is the turn of this connection, after it has waited. */
  isNext: boolean;
}

/**
 * Passes the received bytes of connections to Node in slices.
 *
 * Node parses all bytes that it has received at once, also if the first request closes the connection, or if the
 * work for the bytes is large: a body in chunks of one byte needs a thousand times the work of a usual body. A few
 * connections could therefore keep the server from its other work. Here, parsing stops when the connection is closed
 * or paused. After `maxParseMs`, the rest waits for a later turn of the event loop, in which one connection of each
 * kind continues.
 */
export class ParseTurns {
  readonly #now: () => number;
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #waiting = { admitted: new Set<Socket>(), unknown: new Set<Socket>() };
  #isScheduled = false;
  /** The time for the bytes of all connections in this turn of the event loop. */
  #spentMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Controls the parsing of all connections of a server. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.#add(socket));
    server.on('request', (request) => {
      joinSmallChunks(request);
      const { socket, headers } = request;
      const connection = this.#connections.get(socket);
      if (connection === undefined) return;
      connection.requests++;
      connection.bodyLength = Number(headers['content-length'] ?? 0);
      connection.bodyBytes = connection.bodyLength - connection.sliceBytes;
    });
  }

  #add(socket: Socket): void {
    const [parse, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (parse === undefined || others.length > 0) return;
    const connection: Connection = {
      ...{ sliceBytes: 0, bodyBytes: 0, bodyLength: 0, requests: 0, isNext: false },
    };
    this.#connections.set(socket, connection);
    socket.off('data', parse);
    socket.on('data', (bytes: Buffer) => {
      // Node resumes the connection when a body is read, also if the connection waits for its turn.
      if (this.#isWaiting(socket)) return putBack(socket, bytes);
      const isLate = this.#spentMs >= maxTurnMs && !connection.isNext;
      connection.isNext = false;
      const startedAt = this.#now();
      const spentMs = () => this.#now() - startedAt;
      const rest = parseSlices(socket, bytes, { connection, parse, spentMs, isLate });
      this.#spend(spentMs());
      if (rest === undefined) return;
      // Node must not parse while it has paused the connection. It resumes the connection itself.
      if (socket.isPaused()) return void socket.unshift(rest);
      this.#wait(socket, rest);
    });
    socket.once('close', () => this.#leave(socket));
  }

  /** Notes the time that was spent in this turn of the event loop. */
  #spend(ms: number): void {
    if (this.#spentMs === 0)
      setImmediate(() => {
        this.#spentMs = 0;
      });
    this.#spentMs += ms;
  }

  #isWaiting(socket: Socket): boolean {
    return this.#waiting.admitted.has(socket) || this.#waiting.unknown.has(socket);
  }

  #wait(socket: Socket, rest: Buffer): void {
    const kind = isAdmitted(socket) ? 'admitted' : 'unknown';
    const waiting = this.#waiting[kind];
    if (waiting.size >= maxWaiting[kind]) return void socket.destroy();
    waiting.add(socket);
    putBack(socket, rest);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      for (const waiting of Object.values(this.#waiting)) {
        const [socket] = waiting;
        if (socket === undefined) continue;
        waiting.delete(socket);
        const connection = this.#connections.get(socket);
        if (connection !== undefined) connection.isNext = true;
        socket.resume();
      }
      if (this.#waiting.admitted.size + this.#waiting.unknown.size > 0) this.#schedule();
    });
  }

  #leave(socket: Socket): void {
    this.#waiting.admitted.delete(socket);
    this.#waiting.unknown.delete(socket);
  }
}

interface SlicedParse {
  readonly connection: Connection;
  readonly parse: (bytes: Buffer) => void;
  /** Returns the time since the first slice. */
  readonly spentMs: () => number;
  /** True if other connections have used up the time of this turn of the event loop. */
  readonly isLate: boolean;
}

/** Parses bytes until a connection is closed or paused, or its time is over. Returns the bytes that are left. */
function parseSlices(
  socket: Socket,
  bytes: Buffer,
  { connection, parse, spentMs, isLate }: SlicedParse,
): Buffer | undefined {
  const { requests } = connection;
  for (let at = 0; canParse(socket); ) {
    const { bodyBytes } = connection;
    const isFirst = at === 0 && bodyBytes <= 0;
    const unknown = isLate ? late.sliceBytes : isFirst ? sliceBytes.first : sliceBytes.next;
    const size = unknown + Math.max(0, bodyBytes);
    const slice = bytes.subarray(at, at + size);
    connection.sliceBytes = slice.length;
    connection.bodyBytes -= slice.length;
    parse.call(socket, slice);
    at += slice.length;
    if (at >= bytes.length) return undefined;
    const isOver = spentMs() >= (isLate ? late.maxParseMs : maxParseMs);
    const isAhead =
      isLate && connection.requests > requests && bytes.length - at > connection.bodyLength;
    if (socket.isPaused() || isOver || isAhead) return bytes.subarray(at);
  }
  return undefined;
}

/** Returns false if the connection is closed, or closes after its last answer. */
function canParse(socket: Socket): boolean {
  return !socket.destroyed && socket.writable;
}

/** Returns bytes to the buffer of a connection. The connection emits them again when it is resumed. */
function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
}
