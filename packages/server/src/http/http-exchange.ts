import type { ServerResponse } from 'node:http';
import type { Clock } from '@millrace/log';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerError } from '../contract/server-error.ts';
import { fullScope, type Scope } from '../contract/service.ts';
import { asServerError, errorReply, internalError } from './error-reply.ts';
import type { RequestLog } from './request-log.ts';
import type { Reply, StreamReply } from './route.ts';

let requests = 0;

/** One request on its way, and the one answer that it gets. */
export class HttpExchange {
  readonly id: string;
  readonly request: FastifyRequest;
  readonly response: ServerResponse;
  /** What the caller may touch; set by the gate. */
  scope: Scope = fullScope;
  /** Tells callers apart: by their token, or where they have none by where they are; set by the gate. */
  caller = '';
  label: string | undefined;
  readonly #reply: FastifyReply;
  readonly #log: RequestLog;

  constructor(
    request: FastifyRequest,
    reply: FastifyReply,
    options: { readonly clock: Pick<Clock, 'now'>; readonly requestLog: RequestLog },
  ) {
    this.id = (++requests).toString(36).padStart(6, '0');
    this.request = request;
    this.response = reply.raw;
    this.#reply = reply;
    this.#log = options.requestLog;
    const { clock } = options;
    const startedAt = clock.now();
    const { method, url } = request;
    // On the response itself, because answers that write themselves need these too.
    this.response.setHeader('x-request-id', this.id);
    this.response.setHeader('x-content-type-options', 'nosniff');
    this.response.setHeader('referrer-policy', 'no-referrer');
    // `close` comes however it ended; `finish` would not where the reader left.
    this.response.once('close', () =>
      this.#log.request({
        id: this.id,
        method,
        path: (url.split('?', 1)[0] ?? '').slice(0, 512),
        what: this.label,
        status: this.response.statusCode,
        durationMs: clock.now() - startedAt,
        address: request.ip,
      }),
    );
  }

  /** As what can be told of it. */
  toServerError = (error: unknown): ServerError => {
    const known = asServerError(error);
    if (known !== undefined) return known;
    this.#log.failure(this.id, error);
    return internalError(this.id);
  };

  async sendError(error: unknown): Promise<FastifyReply> {
    return this.send(errorReply(this.toServerError(error)));
  }

  async send({ body, status = 200, headers }: Reply): Promise<FastifyReply> {
    const { response } = this;
    if (this.#reply.sent || response.headersSent) return this.#reply;
    this.#reply.hijack();
    if (status === 413) response.setHeader('connection', 'close');
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const type = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
    response.writeHead(status, {
      ...(text === undefined ? {} : { ...type, 'content-length': text.length }),
      ...headers,
    });
    response.end(text);
    return this.#reply;
  }

  /** It writes itself. A refusal before its first byte is still told as one. */
  async stream({ write }: StreamReply): Promise<FastifyReply> {
    this.#reply.hijack();
    try {
      await write(this.response);
    } catch (error) {
      const refusal = this.toServerError(error);
      if (this.response.headersSent) this.response.destroy();
      else this.#refuseRaw(refusal);
    }
    return this.#reply;
  }

  #refuseRaw(refusal: ServerError): void {
    const { body, status = 500, headers } = errorReply(refusal);
    this.response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...headers,
    });
    this.response.end(JSON.stringify(body));
  }
}
