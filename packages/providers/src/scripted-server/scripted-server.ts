import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { assertAnswer, type WireAnswer } from './answers/wire-answer.ts';
import { Connection, playReply } from './connection.ts';
import { type AnswerOptions, answerReply } from './replies.ts';
import { errorMessage, type ReplyFunction, ReplyQueue, type ScriptedReply } from './reply-queue.ts';
import { refusalOf } from './rules/refusal.ts';
import { type Reply, ScriptedServerError } from './script.ts';
import { RequestLog, readRequest, type ScriptedRequest } from './scripted-request.ts';

/** The replies of the server in order, or a function that creates the reply to each request. */
export type Script = readonly ScriptedReply[] | ReplyFunction;

/** Options of `startScriptedServer`. */
export interface ScriptedServerOptions {
  /**
   * True if the server checks requests. If the real provider would reject a request, the server replies with
   * the status 400 and the provider's own error body. The next scripted reply is then not used, and
   * `assertUsedUp` reports the fault. Requests to other paths are not checked. Default: true.
   */
  readonly strict?: boolean | undefined;
}

/**
 * A real HTTP server on loopback that sends scripted replies, for tests and examples. Each complete request
 * gets the next reply. If no reply is left, or if the real provider would reject the request, the server
 * replies with the status 400.
 *
 * @example
 * const server = await startScriptedServer();
 * server.answer({ text: 'Hello' });
 * // … point a provider at server.url …
 * server.assertUsedUp();
 * await server.close();
 */
export class ScriptedServer implements AsyncDisposable {
  /** Base URL, such as `http://127.0.0.1:49152`. */
  readonly url: string;
  readonly #http: Server;
  readonly #replies: ReplyQueue;
  readonly #isStrict: boolean;
  readonly #log = new RequestLog();
  readonly #connections = new Map<Socket, Connection>();
  readonly #pending = new Set<Promise<void>>();
  #answers = 0;
  #closing: Promise<void> | undefined;

  /**
   * Use `startScriptedServer` instead. The constructor expects a server that is already listening.
   */
  constructor(http: Server, replies: ReplyQueue, isStrict: boolean) {
    this.#http = http;
    this.#replies = replies;
    this.#isStrict = isStrict;
    this.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    http.on('connection', (socket) => this.#connect(socket));
    http.on('request', (incoming, response) => this.#start(incoming, response));
  }

  /** All received requests in order. */
  get requests(): readonly ScriptedRequest[] {
    return this.#log.requests;
  }

  /** Number of open connections, including idle keep-alive connections. */
  get openConnections(): number {
    return this.#connections.size;
  }

  /**
   * Resolves with the next request, which may already have arrived. Each request is returned only once.
   * Rejects when the server closes.
   */
  nextRequest(): Promise<ScriptedRequest> {
    return this.#log.next();
  }

  /** Queues replies. */
  reply(...replies: readonly ScriptedReply[]): void {
    if (this.#closing) {
      throw new ScriptedServerError(
        'server_closed',
        'Cannot queue a reply: the scripted server is closed',
      );
    }
    for (const reply of replies) this.#replies.add(reply);
  }

  /** Queues an answer. It is sent in the wire format that the request uses. */
  answer(answer: WireAnswer, options: AnswerOptions = {}): void {
    assertAnswer(answer);
    this.#answers += 1;
    const numbered = { id: String(this.#answers), ...answer };
    this.reply((request) => answerReply(numbered, request, options));
  }

  /** Throws if a reply was not used, or if a request had no reply. */
  assertUsedUp(): void {
    this.#replies.assertUsedUp();
  }

  /** Closes all connections and the server. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes the server. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#log.close();
    const closed = new Promise((resolve) => this.#http.close(resolve));
    const connections = [...this.#connections.values()];
    for (const connection of connections) connection.closeAbruptly('close');
    await closed;
    await Promise.all([...connections.map((connection) => connection.closed), ...this.#pending]);
  }

  #connect(socket: Socket): void {
    this.#connections.set(socket, new Connection(socket));
    socket.once('close', () => this.#connections.delete(socket));
  }

  #start(incoming: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(incoming.socket);
    if (connection === undefined) return;
    const work = this.#serve(incoming, response, connection)
      .catch((error: unknown) => {
        this.#replies.reportDeviation(`A reply could not be sent: ${errorMessage(error)}`);
        connection.closeAbruptly('close');
      })
      .finally(() => this.#pending.delete(work));
    this.#pending.add(work);
  }

  async #serve(
    incoming: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
  ): Promise<void> {
    const request = await readRequest(incoming, connection);
    if (request === undefined) return connection.closeAbruptly('close');
    this.#log.add(request);
    const reply = await this.#replyTo(request, connection);
    if (reply !== undefined) await playReply(reply, connection, response);
  }

  /**
   * Returns the reply to a request, or undefined if the connection closed before the reply was
   * ready.
   */
  async #replyTo(request: ScriptedRequest, connection: Connection): Promise<Reply | undefined> {
    const refusal = this.#isStrict ? refusalOf(request) : undefined;
    if (refusal !== undefined) {
      this.#replies.reportDeviation(refusal.message);
      return refusal.reply;
    }
    const taken = this.#replies.take(request);
    return Promise.race([taken, connection.closed.then(() => undefined)]);
  }
}

/** Starts a server on a free port of 127.0.0.1. */
export async function startScriptedServer(
  script: Script = [],
  options: ScriptedServerOptions = {},
): Promise<ScriptedServer> {
  const isStrict = readStrict(options);
  const isFunction = typeof script === 'function';
  const replies = new ReplyQueue(isFunction ? script : undefined);
  if (!isFunction) for (const reply of script) replies.add(reply);
  // There are no timeouts. Only the script, the client or `close()` ends a connection.
  const http = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(0, '127.0.0.1', resolve);
  });
  return new ScriptedServer(http, replies, isStrict);
}

function readStrict(options: ScriptedServerOptions): boolean {
  const unknown = Object.keys(options).find((name) => name !== 'strict');
  if (unknown !== undefined) {
    throw new ScriptedServerError(
      'bad_script',
      `Unknown option ${unknown}; the only one is strict`,
    );
  }
  return options.strict ?? true;
}
