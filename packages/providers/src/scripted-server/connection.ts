import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { HttpReply, Reply, Step } from './script.ts';

/** The side that closed a connection first. */
export type ClosedBy = 'client' | 'server';

/** One socket of the server. It records which side closed the connection. */
export class Connection {
  readonly socket: Socket;
  readonly closed: Promise<ClosedBy>;
  #closer: ClosedBy | undefined;
  #isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    // Without this setting, a small write would wait until the client acknowledges the previous write.
    socket.setNoDelay(true);
    // `end` means that the client's FIN arrived. `finish` means that the server's FIN was sent. The first of
    // these events shows which side closed the connection. If the client resets the connection, neither event
    // occurs.
    socket.once('end', () => this.#closing('client'));
    socket.once('finish', () => this.#closing('server'));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        resolve(this.#closing('client'));
      });
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Stores which side closes the connection. Only the first call has an effect. Returns the stored side. */
  #closing(closer: ClosedBy): ClosedBy {
    this.#closer ??= closer;
    return this.#closer;
  }

  closeAbruptly(how: 'close' | 'reset'): void {
    this.#closing('server');
    if (how === 'reset') this.socket.resetAndDestroy();
    else this.socket.destroy();
  }

  /** Resolves when `start` calls `done`, or when the connection closes. */
  untilDoneOrClosed(start: (done: () => void) => void): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.socket.off('close', done);
        resolve();
      };
      this.socket.once('close', done);
      start(done);
    });
  }
}

/** Writes the reply step by step until it ends or the connection closes. */
export async function playReply(
  reply: Reply,
  connection: Connection,
  response: ServerResponse,
): Promise<void> {
  if ('raw' in reply) {
    await runSteps(reply.raw, connection, connection.socket);
    return;
  }
  if (!(await runStepsBefore(reply, connection))) return;
  response.writeHead(reply.status ?? 200, reply.headers ?? {});
  response.flushHeaders();
  await nextEventLoopTurn(connection);
  await runSteps(reply.steps, connection, response);
}

/** Runs the steps that come before the status line. Returns whether the status line may be sent. */
async function runStepsBefore(
  { before = [] }: HttpReply,
  connection: Connection,
): Promise<boolean> {
  for (const step of before) if (!(await runStep(step, connection))) return false;
  return true;
}

async function runSteps(steps: readonly Step[], connection: Connection, output: Writable) {
  for (const step of steps) if (!(await runStep(step, connection, output))) return;
  await connection.untilDoneOrClosed((done) => output.end(done));
}

/** Runs one step. Returns whether the next step may run. */
async function runStep(step: Step, connection: Connection, output?: Writable): Promise<boolean> {
  if (typeof step === 'string' || step instanceof Uint8Array) {
    await connection.untilDoneOrClosed((done) => output?.write(step, done));
    await nextEventLoopTurn(connection);
    return !connection.isClosed;
  }
  switch (step.type) {
    case 'wait':
      await connection.untilDoneOrClosed((done) => void step.for.pass().then(done));
      return !connection.isClosed;
    case 'stall':
      await connection.closed;
      return false;
    case 'cut':
      connection.closeAbruptly(step.how ?? 'close');
      return false;
    case 'end':
      return true;
  }
}

/**
 * Waits for one full turn of the event loop, in which a client in this process reads the written data. Two
 * callbacks are needed. The first callback may run in the same turn, before sockets are polled again. The
 * second callback cannot.
 */
async function nextEventLoopTurn(connection: Connection): Promise<void> {
  await connection.untilDoneOrClosed((done) => void setImmediate(() => void setImmediate(done)));
}
