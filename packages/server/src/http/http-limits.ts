/** Bounds on what a server takes in. */
export interface HttpLimits {
  /** Of a request. */
  readonly maxBodyBytes: number;
  /** Arrays and objects within each other. */
  readonly maxJsonDepth: number;
  /** All headers of a request together. */
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  /** Streams of one token, or of one address where there is none. */
  readonly maxStreamsPerCaller: number;
  /** How long a request may take to arrive: its headers, and all of it. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long a connection may stay without a request. */
  readonly idleTimeoutMs: number;
  /** Requests of one token, or of one address where there is none. */
  readonly requestsPerSecond: number;
  /** As many may come at once. */
  readonly requestBurst: number;
  /** How long what goes on may take to end when the server is closed. */
  readonly closeTimeoutMs: number;
}

export const defaultHttpLimits: HttpLimits = {
  maxBodyBytes: 2 ** 20,
  maxJsonDepth: 64,
  maxHeaderBytes: 2 ** 14,
  maxConnections: 10_000,
  maxStreamsPerCaller: 5000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  idleTimeoutMs: 72_000,
  requestsPerSecond: 1000,
  requestBurst: 5000,
  closeTimeoutMs: 5000,
};
