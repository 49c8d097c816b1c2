/**
 * Maximum number of header fields of a request. Each field needs memory in addition to its bytes, and browsers send
 * at most about 30 fields.
 */
export const maxHeaderFields = 100;

/** Limits for HTTP requests, connections and streams. */
export interface HttpLimits {
  /** Maximum size of a request body in bytes. Default: 1 MiB. */
  readonly maxBodyBytes: number;
  /** Maximum size of an uploaded file in bytes. Default: 10 MiB. */
  readonly maxFileBytes: number;
  /** Maximum number of uploads that the server receives at the same time. Default: 32. */
  readonly maxUploads: number;
  /** Maximum nesting of arrays and objects in JSON. Default: 64. */
  readonly maxJsonDepth: number;
  /** Maximum number of values in a JSON body. Default: 262,144. */
  readonly maxJsonValues: number;
  /** Maximum number of keys of all objects in a JSON body. Default: 65,536. */
  readonly maxJsonKeys: number;
  /** Maximum size of all headers of a request in bytes. Default: 16 KiB. */
  readonly maxHeaderBytes: number;
  /**
   * Maximum number of open connections. At the limit, a new connection replaces the oldest connection whose caller
   * the server has not accepted, or else one of the caller without full access that has the most connections.
   * Default: 10,000.
   */
  readonly maxConnections: number;
  /** Maximum number of open streams per token, or per address if there is no token. Default: 5,000. */
  readonly maxStreamsPerCaller: number;
  /** Maximum time until the headers of a request have arrived. Default: 10 s. */
  readonly headersTimeoutMs: number;
  /** Maximum time until a complete request has arrived. Default: 30 s. */
  readonly requestTimeoutMs: number;
  /** Maximum time that a read with `live=long-poll` waits for new data. Default: 20 s. */
  readonly longPollTimeoutMs: number;
  /** Maximum time that a connection stays open without a request. Default: 72 s. */
  readonly idleTimeoutMs: number;
  /**
   * Maximum rate of requests per token, or per address if there is no token. Each path that needs no token has a rate
   * of its own. Default: 1,000 per second.
   */
  readonly requestsPerSecond: number;
  /** Maximum number of requests in one burst. Default: 5,000. */
  readonly requestBurst: number;
  /**
   * Maximum rate of wrong tokens per address. Above it, a wrong token gets status 429. Valid tokens are not
   * affected. Default: 10 per second.
   */
  readonly wrongTokensPerSecond: number;
  /** Maximum number of wrong tokens in one burst. Default: 100. */
  readonly wrongTokenBurst: number;
  /**
   * Maximum number of bytes that a caller without full access can copy in one hour, with forks and branches of
   * tasks and streams. Default: 256 MiB.
   */
  readonly copiedBytesPerHour: number;
  /** Maximum time for running requests to finish when the server closes. Default: 5 s. */
  readonly closeTimeoutMs: number;
}

/** The default limits of a server. */
export const defaultHttpLimits: HttpLimits = {
  maxBodyBytes: 2 ** 20,
  maxFileBytes: 10 * 2 ** 20,
  maxUploads: 32,
  maxJsonDepth: 64,
  maxJsonValues: 2 ** 18,
  maxJsonKeys: 2 ** 16,
  maxHeaderBytes: 2 ** 14,
  maxConnections: 10_000,
  maxStreamsPerCaller: 5000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  longPollTimeoutMs: 20_000,
  idleTimeoutMs: 72_000,
  requestsPerSecond: 1000,
  requestBurst: 5000,
  wrongTokensPerSecond: 10,
  wrongTokenBurst: 100,
  copiedBytesPerHour: 2 ** 28,
  closeTimeoutMs: 5000,
};
