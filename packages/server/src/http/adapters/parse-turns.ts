import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { joinSmallChunks } from '../../network/join-chunks.ts';
import { isAdmitted, noteReceived, onceAdmitted } from '../access/connection-limit.ts';
import { openHeadMemory } from '../access/unknown-memory.ts';
import { maxRequestsAhead } from '../open-connections.ts';
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
 * The same limits if the server accepted a connection in the turn before. Node accepts only one connection in each turn.
 * Others can wait in the kernel, so the turns must be short.
 */
const acceptingTurnMs: Readonly<Record<ConnectionKind, number>> = { admitted: 1, unknown: 0.8 };

/**
 * While the server accepts connections, those with an accepted caller continue only in each turn of this number. Their
 * bytes can need more time than the limit, because the server parses at least one slice.
 */
const acceptingTurns = 4;

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
  /** True if the last piece of bytes contained the end of a head. */
  hasRequest: boolean;
  /** The number of requests that arrived together with bytes of the next one. Zero if no bytes wait. */
  sentAhead: number;
  /** The last three parsed bytes. They can contain the beginning of the end of a head. */
  lastBytes: Buffer;
  /** True if the server does not parse the body of the last request, because it has not accepted the caller. */
  isBodyHeld: boolean;
  /** True if this class has paused the connection because of `isBodyHeld`. */
  isPaused: boolean;
}

/**
 * Passes the received bytes of connections to Node in slices.
 *
 * Node parses all bytes that it has received at once, also if the first request closes the connection, or if the
 * work for the bytes is large: a body in chunks of one byte needs a thousand times the work of a usual body. A few
 * connections could therefore keep the server from its other work, and so could the requests of thousands of them.
 *
 * Here, the server parses the body of a request only after it has accepted the caller, or answered the request. It does
 * not need the body before, because only requests with an accepted caller have a use for it. After a refused request
 * with a chunked body, the connection closes. Parsing also stops when the connection is closed or paused. After `maxParseMs`, the rest waits for a later turn of
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
  /** The number of turns in a row in which the server accepted a connection. */
  #acceptingTurns = 0;
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
    server.on('request', (request, response) => {
      joinSmallChunks(request);
      const { socket, headers } = request;
      const connection = this.#connections.get(socket);
      if (connection === undefined) return;
      connection.message = request;
      connection.newPieces = 0;
      connection.hasRequest = true;
      connection.bodyBytes = Number(headers['content-length'] ?? 0) - connection.sliceBytes;
      this.#holdBody(request, response, connection);
    });
  }

  /** Parses the body of a request only after the server has accepted the caller, or answered the request. */
  #holdBody(
    { socket, headers }: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
  ): void {
    const isChunked = headers['transfer-encoding'] !== undefined;
    const hasBody = isChunked || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || isAdmitted(socket)) return;
    connection.isBodyHeld = true;
    const release = () => {
      if (!connection.isBodyHeld) return;
      connection.isBodyHeld = false;
      if (connection.isPaused) socket.resume();
      connection.isPaused = false;
    };
    const { shouldKeepAlive } = response;
    onceAdmitted(socket, () => {
      response.shouldKeepAlive = shouldKeepAlive;
      release();
    });
    // The rest of a chunked body can need any amount of work. A body of a known length needs little.
    if (isChunked) response.shouldKeepAlive = false;
    else response.once('close', release);
  }

  #add(socket: Socket): void {
    this.#isAccepting = true;
    this.#schedule();
    const [parse, ...others] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (parse === undefined || others.length > 0) return;
    const connection: Connection = {
      ...{ number: ++this.#opened, newPieces },
      ...{ parse, sliceBytes: 0, bodyBytes: 0, isNext: false, message: undefined, headBytes: 0 },
      ...{
        lastBytes: Buffer.alloc(0),
        hasRequest: false,
        sentAhead: 0,
        isBodyHeld: false,
        isPaused: false,
      },
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
    if (connection.isBodyHeld) return hold(socket, bytes, connection);
    // Node resumes the connection when a body is read, also if the connection waits for its turn.
    if (this.#waiting.has(socket)) return this.#wait(socket, bytes, connection);
    const kind = isAdmitted(socket) ? 'admitted' : 'unknown';
    const { isNext } = connection;
    connection.isNext = false;
    if (this.#spentMs[kind] >= this.#limitMs[kind] && !isNext)
      return this.#wait(socket, bytes, connection);
    connection.newPieces--;
    connection.hasRequest = false;
    const startedAt = this.#now();
    const spentMs = () => this.#now() - startedAt;
    // The server parses only one head of a connection without an accepted caller in each turn of the connection.
    const isOver = () => spentMs() >= maxParseMs || (connection.hasRequest && !isAdmitted(socket));
    const rest = parseSlices(socket, bytes, connection, isOver);
    this.#spentMs[kind] += Math.max(spentMs(), minPieceMs[kind]);
    this.#schedule();
    if (isNext) this.#continue(kind);
    if (rest === undefined) connection.sentAhead = 0;
    else if (connection.hasRequest && !isAdmitted(socket)) connection.sentAhead++;
    if (rest === undefined) return;
    connection.newPieces = 0;
    if (connection.sentAhead >= maxRequestsAhead) return void socket.destroy();
    // Node must not parse while it has paused the connection. It resumes the connection itself.
    if (socket.isPaused()) return void socket.unshift(rest);
    if (connection.isBodyHeld) return hold(socket, rest, connection);
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
      const isPostponed = this.#isAccepting && this.#acceptingTurns % acceptingTurns !== 0;
      this.#acceptingTurns = this.#isAccepting ? this.#acceptingTurns + 1 : 0;
      this.#spentMs = { admitted: isPostponed ? this.#spentMs.admitted : 0, unknown: 0 };
      this.#limitMs = this.#isAccepting ? acceptingTurnMs : maxTurnMs;
      this.#isAccepting = false;
      this.#waiting.beginTurn();
      if (!isPostponed) this.#continue('admitted');
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
  isOver: () => boolean,
): Buffer | undefined {
  for (let at = 0; canParse(socket); ) {
    const { bodyBytes, parse } = connection;
    const unknown = at === 0 && bodyBytes <= 0 ? sliceBytes.first : sliceBytes.next;
    const most = bytes.subarray(at, at + unknown + Math.max(0, bodyBytes));
    const slice = bodyBytes > 0 || isAdmitted(socket) ? most : firstHead(connection, most);
    connection.sliceBytes = slice.length;
    connection.bodyBytes -= slice.length;
    parse.call(socket, slice);
    connection.lastBytes = Buffer.concat([connection.lastBytes, slice.subarray(-3)]).subarray(-3);
    countHead(connection, slice);
    at += slice.length;
    if (at >= bytes.length) return undefined;
    if (socket.isPaused() || connection.isBodyHeld || isOver()) return bytes.subarray(at);
  }
  return undefined;
}

/** Returns the bytes up to the first end of a head, which can begin in the bytes that were parsed before. */
function firstHead({ lastBytes }: Connection, bytes: Buffer): Buffer {
  const seam = Buffer.concat([lastBytes, bytes.subarray(0, blankLine.length - 1)]);
  const atSeam = seam.indexOf(blankLine);
  const start = atSeam < 0 ? bytes.indexOf(blankLine) : atSeam - lastBytes.length;
  return atSeam < 0 && start < 0 ? bytes : bytes.subarray(0, start + blankLine.length);
}

/** Returns bytes of a body to the buffer of a connection until the body may be parsed. */
function hold(socket: Socket, bytes: Buffer, connection: Connection): void {
  connection.isPaused = true;
  putBack(socket, bytes);
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
