import type { Socket } from 'node:net';
import { isAdmitted, restrictedOf } from '../access/connection-limit.ts';

/** The connections whose callers the server has accepted, and all other connections. */
export type ConnectionKind = 'admitted' | 'unknown';

/**
 * Maximum number of connections without an accepted caller that wait: new ones, and used ones. With the time for each
 * of them, this limits how long a connection waits.
 */
const maxUnknownWaiting = { new: 500, used: 2000 };

/**
 * Number of new connections that continue in each turn, even if they need much time. It is larger than the number of
 * pieces of bytes for which the connections that open in one turn are new. The connections that opened later therefore
 * cannot keep an earlier one waiting.
 */
const newPerTurn = 5;

/**
 * Maximum number of bytes of all connections that wait. `UnknownMemory` limits the part of connections without an
 * accepted caller to 64 MiB.
 */
const maxWaitingBytes = 96 * 2 ** 20;

/** A connection that can wait. */
interface WaitingConnection {
  /** The order in which the connections opened. */
  readonly number: number;
  /** True if the server has not parsed a head of this connection yet. */
  readonly isNew: boolean;
}

interface WaitingBytes {
  readonly bytes: number;
  readonly number: number;
}

/** Connections in the order in which they began to wait. */
type Queue = Map<Socket, WaitingBytes>;

/**
 * The connections whose received bytes wait for a later turn of the event loop.
 *
 * Connections with an accepted caller never wait for others. Callers with different rights continue in turns, so that
 * one of them cannot keep the others waiting with thousands of connections.
 *
 * The server cannot distinguish an honest client from an attacker before it has parsed the first head. A client without
 * a token can keep thousands of connections with work for the server, but it can open only one connection in each turn,
 * because Node accepts only one. Therefore new connections have a queue of their own, and the one that was opened last
 * continues first. Used connections continue in the order in which they began to wait.
 */
export class WaitingConnections {
  /** The connections with an accepted caller, by its rights. The next caller comes first. */
  readonly #callers = new Map<string, Queue>();
  readonly #unknown = { new: new Map() as Queue, used: new Map() as Queue };
  /** The queue of each connection that waits. */
  readonly #queues = new Map<Socket, Queue>();
  #bytes = 0;
  /** The connections without an accepted caller that continued in this turn of the event loop. */
  #taken = { new: 0, used: 0 };

  get size(): number {
    return this.#queues.size;
  }

  has(socket: Socket): boolean {
    return this.#queues.has(socket);
  }

  /**
   * Adds a connection with its waiting bytes. Closes a connection if too many bytes or connections wait. Its client must
   * connect again.
   */
  add(socket: Socket, { number, isNew }: WaitingConnection): void {
    this.delete(socket);
    const bytes = socket.readableLength;
    if (!this.#hasRoom(bytes)) return void socket.destroy();
    this.#bytes += bytes;
    const unknown = isNew ? this.#unknown.new : this.#unknown.used;
    const queue = isAdmitted(socket) ? this.#queueOf(socket) : unknown;
    queue.set(socket, { bytes, number });
    this.#queues.set(socket, queue);
    if (queue !== unknown || queue.size <= maxUnknownWaiting[isNew ? 'new' : 'used']) return;
    // The new connection that was opened first, or the used connection that began to wait last.
    const closed = isNew ? this.#findNew((one, other) => one < other) : socket;
    if (closed === undefined) return;
    this.delete(closed);
    closed.destroy();
  }

  delete(socket: Socket): void {
    const queue = this.#queues.get(socket);
    this.#bytes -= queue?.get(socket)?.bytes ?? 0;
    queue?.delete(socket);
    this.#queues.delete(socket);
  }

  /** Returns the queue of all connections whose callers have the same rights as the caller of this one. */
  #queueOf(socket: Socket): Queue {
    const name = restrictedOf(socket) ?? '';
    const queue = this.#callers.get(name) ?? (new Map() as Queue);
    this.#callers.set(name, queue);
    return queue;
  }

  /** Begins a turn of the event loop. */
  beginTurn(): void {
    this.#taken = { new: 0, used: 0 };
    this.#moveAdmitted();
  }

  /**
   * Removes the next connection of a kind, and returns it. If the time of the turn is over, it returns only the
   * connections that continue in each turn.
   */
  take(kind: ConnectionKind, isOver: boolean): Socket | undefined {
    const socket = kind === 'admitted' ? this.#nextAdmitted(isOver) : this.#nextUnknown(isOver);
    if (socket !== undefined) this.delete(socket);
    return socket;
  }

  /** Moves connections whose callers were accepted while they waited. */
  #moveAdmitted(): void {
    for (const queue of Object.values(this.#unknown))
      for (const [socket, waiting] of queue) {
        if (!isAdmitted(socket)) continue;
        queue.delete(socket);
        const admitted = this.#queueOf(socket).set(socket, waiting);
        this.#queues.set(socket, admitted);
      }
  }

  /** Returns a connection of the next caller. The caller then waits until it is the turn of all others. */
  #nextAdmitted(isOver: boolean): Socket | undefined {
    if (isOver) return undefined;
    for (const [name, queue] of this.#callers) {
      const socket = firstOf(queue);
      this.#callers.delete(name);
      if (queue.size > 1) this.#callers.set(name, queue);
      if (socket !== undefined) return socket;
    }
    return undefined;
  }

  #nextUnknown(isOver: boolean): Socket | undefined {
    const taken = this.#taken;
    const isNewDue = taken.new < newPerTurn && this.#unknown.new.size > 0;
    const isUsedDue = taken.used === 0 && this.#unknown.used.size > 0;
    if (isOver && !isNewDue && !isUsedDue) return undefined;
    const isUsedNext = isUsedDue || (!isNewDue && taken.used <= taken.new);
    const used =
      isUsedNext || this.#unknown.new.size === 0 ? firstOf(this.#unknown.used) : undefined;
    taken[used === undefined ? 'new' : 'used']++;
    return used ?? this.#findNew((one, other) => one > other);
  }

  /** Returns the new connection whose number comes first. */
  #findNew(isBefore: (one: number, other: number) => boolean): Socket | undefined {
    let found: { readonly socket: Socket; readonly number: number } | undefined;
    for (const [socket, { number }] of this.#unknown.new)
      if (found === undefined || isBefore(number, found.number)) found = { socket, number };
    return found?.socket;
  }

  #hasRoom(bytes: number): boolean {
    if (this.#bytes + bytes <= maxWaitingBytes) return true;
    // A connection emits `close` at the end of the turn in which it was destroyed.
    for (const socket of this.#queues.keys()) if (socket.destroyed) this.delete(socket);
    return this.#bytes + bytes <= maxWaitingBytes;
  }
}

function firstOf(queue: Queue): Socket | undefined {
  const [first] = queue.keys();
  return first;
}
