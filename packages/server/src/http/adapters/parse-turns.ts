import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { joinSmallChunks } from '../../network/join-chunks.ts';
import { isAdmitted, noteReceived } from '../access/connection-limit.ts';
import { openHeadMemory } from '../access/unknown-memory.ts';
import { type ConnectionKind, WaitingConnections } from './waiting-connections.ts';

/**
 * Maximum number of bytes that Node parses before the state of the connection is checked. The first slice is
 * smaller, because its cost is unknown.
 */
const sliceBytes = { first: 1024, next: 4096 };

/** Time after which the rest of the received bytes of a connection waits for a later turn, in milliseconds. */
const maxParseMs = 1;

/**
 * Maximum time for the bytes of all connections of one kind in one turn of the event loop, in milliseconds. Thousands
 * of connections can send bytes at the same time.
 */
const maxTurnMs: Readonly<Record<ConnectionKind, number>> = { admitted: 10, unknown: 4 };

/**
 * The same limit for connections without an accepted caller, if the server accepted a connection in the turn before.
 * Node accepts only one connection in each turn. Others can wait in the kernel, so the turns must be short.
 */
const acceptingTurnMs = 0.8;

/**
 * The least time for which a piece of received bytes counts, in milliseconds. The time for the answer to a refused
 * request is not measured.
 */
const minPieceMs: Readonly<Record<ConnectionKind, number>> = { admitted: 0, unknown: 0.4 };

/**
 * A connection without an accepted caller is new until the server has parsed a head, this many pieces of bytes, or
 * bytes for `maxParseMs`. The head of an honest request usually arrives in one piece.
 */
const newPieces = 2;

interface Connection {
  /** The order in which the connections opened. */
  readonly number: number;
  /** The number of pieces of bytes until the connection is no longer new. */
  newPieces: number;
  /** Passes bytes to Node. */
  readonly parse: (bytes: Buffer) => void;
  /** The size of the slice that Node parses. */
  sliceBytes: number;
  /** The next bytes that certainly belong to a body whose length is known. They need no slices. */
  bodyBytes: number;
  /** The last request, until Node has parsed its end. */
  message: IncomingMessage | undefined;
  /** At most this many parsed bytes belong to a head that is not complete. */
  headBytes: number;
  /** True if it is the turn of this connection, after it has waited. */
  isNext: boolean;
}

/**
 * Passes the received bytes of connections to Node in slices.
 *
 * Node parses all bytes that it has received at once, also if the first request closes the connection, or if the
 * work for the bytes is large: a body in chunks of one byte needs a thousand times the work of a usual body. A few
 * connections could therefore keep the server from its other work, and so could the requests of thousands of them.
 * Here, parsing stops when the connection is closed or paused. After `maxParseMs`, the rest waits for a later turn of
 * the event loop. After `maxTurnMs`, all further connections of this kind wait.
 */
export class ParseTurns {
  readonly #now: () => number;
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #waiting = new WaitingConnections();
  #opened = 0;
  #isScheduled = false;
  /** True if the server accepted a connection in this turn of the event loop. */
  #isAccepting = false;
  /** The maximum time for the bytes of all connections in this turn. */
  #limitMs = maxTurnMs;
  /** The time for the bytes of all connections in this turn. */
  #spentMs: Record<ConnectionKind, number> = { admitted: 0, unknown: 0 };

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
      connection.message = request;
      connection.newPieces = 0;
      connection.bodyBytes = Number(headers['content-length'] ?? 0) - connection.sliceBytes;
    });
  }

  #add(socket: Socket): void {
    this.#isAccepting = true;
    this.#schedule();
    const [parse, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (parse === undefined || others.length > 0) return;
    const connection: Connection = {
      ...{ number: ++this.#opened, newPieces },
      ...{ parse, sliceBytes: 0, bodyBytes: 0, isNext: false, message: undefined, headBytes: 0 },
    };
    this.#connections.set(socket, connection);
    socket.off('data', parse);
    socket.on('data', (bytes: Buffer) => {
      this.#receive(socket, bytes, connection);
      noteReceived(socket, openHeadMemory(connection.headBytes) + socket.readableLength);
    });
    socket.once('close', () => this.#waiting.delete(socket));
  }

  #receive(socket: Socket, bytes: Buffer, connection: Connection): void {
    // Node resumes the connection when a body is read, also if the connection waits for its turn.
    if (this.#waiting.has(socket)) return this.#wait(socket, bytes, connection);
    const kind = isAdmitted(socket) ? 'admitted' : 'unknown';
    const { isNext } = connection;
    connection.isNext = false;
    if (this.#spentMs[kind] >= this.#limitMs[kind] && !isNext)
      return this.#wait(socket, bytes, connection);
    connection.newPieces--;
    const startedAt = this.#now();
    const spentMs = () => this.#now() - startedAt;
    const rest = parseSlices(socket, bytes, connection, spentMs);
    this.#spentMs[kind] += Math.max(spentMs(), minPieceMs[kind]);
    this.#schedule();
    if (isNext) this.#continue(kind);
    if (rest === undefined) return;
    connection.newPieces = 0;
    // Node must not parse while it has paused the connection. It resumes the connection itself.
    if (socket.isPaused()) return void socket.unshift(rest);
    this.#wait(socket, rest, connection);
  }

  #wait(socket: Socket, rest: Buffer, { number, newPieces }: Connection): void {
    putBack(socket, rest);
    this.#waiting.add(socket, { number, isNew: newPieces > 0 });
    this.#schedule();
  }

  /** Begins a new turn before the event loop receives further bytes. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#spentMs = { admitted: 0, unknown: 0 };
      this.#limitMs = this.#isAccepting ? { ...maxTurnMs, unknown: acceptingTurnMs } : maxTurnMs;
      this.#isAccepting = false;
      this.#waiting.beginTurn();
      this.#continue('admitted');
      this.#continue('unknown');
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  /** Continues with the next connection of a kind, if this turn has time for it. */
  #continue(kind: ConnectionKind): void {
    const socket = this.#waiting.take(kind, this.#spentMs[kind] >= this.#limitMs[kind]);
    const connection = socket && this.#connections.get(socket);
    if (connection === undefined) return;
    connection.isNext = true;
    socket?.resume();
  }
}

/** Parses bytes until a connection is closed or paused, or its time is over. Returns the bytes that are left. */
function parseSlices(
  socket: Socket,
  bytes: Buffer,
  connection: Connection,
  spentMs: () => number,
): Buffer | undefined {
  for (let at = 0; canParse(socket); ) {
    const { bodyBytes, parse } = connection;
    const unknown = at === 0 && bodyBytes <= 0 ? sliceBytes.first : sliceBytes.next;
    const slice = bytes.subarray(at, at + unknown + Math.max(0, bodyBytes));
    connection.sliceBytes = slice.length;
    connection.bodyBytes -= slice.length;
    parse.call(socket, slice);
    countHead(connection, slice);
    at += slice.length;
    if (at >= bytes.length) return undefined;
    if (socket.isPaused() || spentMs() >= maxParseMs) return bytes.subarray(at);
  }
  return undefined;
}

/** Counts the bytes of a parsed slice that can belong to a head that is not complete. */
function countHead(connection: Connection, slice: Buffer): void {
  const { message } = connection;
  if (message === undefined) connection.headBytes += slice.length;
  else if (!message.complete) connection.headBytes = 0;
  else {
    connection.message = undefined;
    // Usually, a slice ends with the head of a request without a body. Otherwise at most the last bytes of the slice
    // belong to a next head.
    const isWhole = slice.subarray(-4).equals(blankLine);
    connection.headBytes = isWhole ? 0 : Math.min(slice.length, sliceBytes.next);
  }
}

/** The end of a head. */
const blankLine = Buffer.from('\r\n\r\n');

/** Returns false if the connection is closed, or closes after its last answer. */
function canParse(socket: Socket): boolean {
  return !socket.destroyed && socket.writable;
}

/** Returns bytes to the buffer of a connection. The connection emits them again when it is resumed. */
function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
}
