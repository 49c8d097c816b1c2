import type { IncomingHttpHeaders } from 'node:http';
import { gzip } from 'node:zlib';
import type { Clock } from '@millrace/log';
import type { HttpRequest, HttpResponse } from '../contract/http.ts';
import { ServerError } from '../contract/server-error.ts';
import { fullGrant, type Grant } from '../contract/service.ts';
import type { StorageHealth } from '../stores/storage-health.ts';
import { restrictedName } from './access/fair-share.ts';
import type { IsUserAdmitted } from './access/user-checks.ts';
import { asServerError, errorReply, internalError } from './error-reply.ts';
import type { InTurn, ReplyTurns } from './replies/reply-turns.ts';
import type { UnreadReplies } from './replies/unread-replies.ts';
import type { RequestLog } from './request-log.ts';
import type { Reply, StreamReply } from './route.ts';

let requests = 0;

/**
 * Minimum size of a compressed answer in bytes. Smaller answers fit into one or two packets without
 * compression.
 */
const minGzipBytes = 2048;

/** Maximum length of an accept-encoding header. Browsers send about 30 characters. */
const maxAcceptLength = 1000;

/**
 * Returns true if the client accepts an encoding. `gzip;q=0` means that the client does not accept gzip. A
 * header that is too long counts as missing, because every client can send one, even without a token.
 *
 * @example
 * acceptsEncoding({ 'accept-encoding': 'br, gzip;q=0' }, 'gzip'); // false
 */
export function acceptsEncoding(
  { 'accept-encoding': accepted = '' }: Pick<IncomingHttpHeaders, 'accept-encoding'>,
  encoding: 'br' | 'gzip',
): boolean {
  const header = String(accepted);
  if (header.length > maxAcceptLength) return false;
  return header.split(',').some((one) => {
    const [name = '', weight = 'q=1'] = one.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && weight.startsWith('q=') && Number(weight.slice(2)) > 0;
  });
}

/** Time after which the server checks a waiting caller again before it works or answers, in milliseconds. */
const recheckAfterMs = 1000;

interface ExchangeOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly requestLog: RequestLog;
  readonly unreadReplies: UnreadReplies;
  readonly replyTurns: ReplyTurns;
  /** Receives all errors and selects the storage errors. */
  readonly storage?: Pick<StorageHealth, 'report'> | undefined;
}

/** One HTTP request and its single response. */
export class HttpExchange {
  readonly id: string;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  /** The rights of the caller. `checkAccess` sets it. */
  grant: Grant = fullGrant;
  /**
   * Identifies the caller by its token, or by its address for a request without a token. `checkAccess` sets
   * it.
   */
  caller = '';
  /**
   * Asks the application again whether it admits the user with the same rights. Undefined if the caller is not
   * a user of `authorize`. `checkAccess` sets it.
   */
  isUserAdmitted: IsUserAdmitted | undefined;
  /** Returns the caller's rights now, or undefined if its token or sign-in has ended. `checkAccess` sets it. */
  currentGrant: () => Promise<Grant | undefined> = async () => this.grant;
  /** True if the route needs no token. `checkAccess` sets it. */
  isPublic = false;
  /** The address of the client. */
  address: string;
  /** The origin of the server, as the client sees it. `checkAccess` sets it. */
  origin = 'http://localhost';
  label: string | undefined;
  /** Converts an error to a reply in the format of the route. */
  formatError: (error: ServerError) => Reply = errorReply;
  readonly #clock: Pick<Clock, 'now'>;
  /** The time of the last check whether the caller is admitted. */
  #admittedAt: number;
  readonly #log: RequestLog;
  readonly #storage: ExchangeOptions['storage'];
  readonly #unread: UnreadReplies;
  readonly #turns: ReplyTurns;

  constructor(request: HttpRequest, response: HttpResponse, options: ExchangeOptions) {
    this.id = (++requests).toString(36).padStart(6, '0');
    this.request = request;
    this.response = response;
    this.address = request.address;
    this.#log = options.requestLog;
    this.#storage = options.storage;
    this.#unread = options.unreadReplies;
    this.#turns = options.replyTurns;
    const { clock } = options;
    this.#clock = clock;
    const startedAt = clock.now();
    this.#admittedAt = startedAt;
    const { method, url } = request;
    // These headers are set on the raw response, because streamed replies need them too.
    this.response.setHeader('x-request-id', this.id);
    this.response.setHeader('x-content-type-options', 'nosniff');
    this.response.setHeader('referrer-policy', 'no-referrer');
    // This header prevents pages of other origins from embedding an answer, for example as an image or a
    // script.
    this.response.setHeader('cross-origin-resource-policy', 'same-origin');
    // The event `close` is always emitted. `finish` is not emitted if the client disconnects early.
    this.response.once('close', () =>
      this.#log.request({
        id: this.id,
        method,
        path: (url.split('?', 1)[0] ?? '').slice(0, 512),
        what: this.label,
        status: this.response.statusCode,
        durationMs: clock.now() - startedAt,
        address: this.address,
      }),
    );
  }

  /** Converts an error to one that clients may see. It logs unexpected errors. */
  toServerError = (error: unknown): ServerError => {
    this.#storage?.report(error);
    const known = asServerError(error);
    if (known !== undefined) return known;
    this.#log.failure(this.id, error);
    return internalError(this.id);
  };

  sendError(error: unknown): void {
    this.send(this.formatError(this.toServerError(error)));
  }

  send({ body, status = 200, headers }: Reply): void {
    const { response } = this;
    if (response.headersSent || response.destroyed) return;
    // The server has not read the rest of the body, so the connection cannot be reused.
    if (status === 413 || status === 408) response.setHeader('connection', 'close');
    const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    // No limit applies to the compression for clients without a token. Public documents are compressed only once.
    if (text === undefined || text.length < minGzipBytes || this.isPublic)
      return this.#end(status, headers, text, {});
    // A cache must not send a compressed answer to a client that does not accept it, or share answers between
    // origins.
    const vary = { vary: 'accept-encoding, origin' };
    if (!acceptsEncoding(this.request.headers, 'gzip'))
      return this.#end(status, headers, text, vary);
    // The text stays in memory until a thread has compressed it.
    const release = this.#unread.count(restrictedName(this.grant), text.length);
    gzip(text, (error, zipped) => {
      release();
      if (response.headersSent || response.destroyed) return;
      if (error !== null) return this.#end(status, headers, text, vary);
      this.#end(status, headers, zipped, { ...vary, 'content-encoding': 'gzip' });
    });
  }

  #end(
    status: number,
    headers: Reply['headers'],
    bytes: Buffer | undefined,
    more: Reply['headers'],
  ): void {
    const type = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
    this.response.writeHead(status, {
      ...(bytes === undefined ? {} : { ...type, ...more, 'content-length': bytes.length }),
      ...headers,
    });
    this.response.end(bytes);
    this.#watchReader();
  }

  /** Stores that the caller is admitted now. */
  markAdmitted(): void {
    this.#admittedAt = this.#clock.now();
  }

  /** Returns true if the caller was admitted so long ago that its access may have ended. */
  isLate(): boolean {
    const waitedMs = this.#clock.now() - this.#admittedAt;
    const isRecent = waitedMs >= 0 && waitedMs < recheckAfterMs;
    return !isRecent && !this.response.destroyed;
  }

  /**
   * Reads the caller's rights again. Throws `unauthorized` if its access has ended while the request waited, for
   * example for its body or for an approval.
   */
  async renewGrant(): Promise<void> {
    // If the store or the application fails, the caller stays admitted, like the caller of an open stream.
    const grant = await this.currentGrant().catch(() => this.grant);
    if (grant !== undefined) {
      this.grant = grant;
      return this.markAdmitted();
    }
    const message =
      'Cannot answer: your access ended while the request waited. Sign in again, or request a new token';
    throw new ServerError('unauthorized', message);
  }

  /** Throws `rate_limited` if the caller has too many replies that it has not read. */
  assertReader(): void {
    this.#unread.assertCapacity(restrictedName(this.grant));
  }

  /** Waits until the client has read what was written. Disconnects a client that stops reading. */
  drained = (response: HttpResponse): Promise<void> =>
    this.#unread.drained(response, restrictedName(this.grant));

  /** Returns a promise for the moment at which the caller can get more bytes. Undefined if it can now. */
  full = (): Promise<void> | undefined => this.#unread.full(restrictedName(this.grant));

  /** Returns a promise for the start of the handler. Undefined if the handler can start now. */
  start(): Promise<void> | undefined {
    const restricted = restrictedName(this.grant);
    return restricted === undefined ? undefined : this.#turns.start(restricted);
  }

  /** Prepares a reply in a turn of the caller. */
  inTurn: InTurn = (work, whenFull) => this.#turns.take(restrictedName(this.grant), work, whenFull);

  #watchReader(): void {
    this.#unread.watch(this.response, restrictedName(this.grant));
  }

  /**
   * Lets a streamed reply write to the response. If the reply throws before the first byte, the client
   * receives an error.
   */
  async stream({ write }: StreamReply): Promise<void> {
    try {
      await write(this.response);
      this.#watchReader();
    } catch (error) {
      const refusal = this.toServerError(error);
      if (this.response.headersSent) this.response.destroy();
      else this.send(this.formatError(refusal));
    }
  }
}
