/** Resource limits of streams. */
export interface StreamLimits {
  /**
   * Records that arrive within this time after a publication are published together. The first one
   * is published at once. Default: 20 ms.
   */
  readonly mergeMs: number;
  /** Recent frames in memory for clients that reconnect, per view of a task. Default: 256 KiB. */
  readonly ringBytes: number;
  /** Cached frames for clients that are further behind, per task. Default: 1 MiB. */
  readonly replayBytes: number;
  /** Maximum size of one write to a connection. Default: 64 KiB. */
  readonly pieceBytes: number;
  /** How long a task without viewers is still followed. Default: 5 s. */
  readonly lingerMs: number;
  /** A comment is sent after this time without a frame. Default: 15 s. */
  readonly heartbeatMs: number;
  /** How long clients should wait before they reconnect. The stream sends it as `retry:`. Default: 1 s. */
  readonly retryMs: number;
  /**
   * Maximum number of records by which a client may lag after it has caught up once. A client that
   * lags more is disconnected, and can resume. Default: 50,000.
   */
  readonly maxLagRecords: number;
  /** The same limit in bytes. Default: 8 MiB. */
  readonly maxLagBytes: number;
  /** A client that reads nothing for this time is disconnected. Default: 60 s. */
  readonly stallTimeoutMs: number;
  /** Maximum number of tasks that are streamed at once. Default: 2,000. */
  readonly maxTasks: number;
  /** Maximum number of open streams. Default: 20,000. */
  readonly maxViewers: number;
}

/** The stream limits of a server without `streamLimits`. */
export const defaultStreamLimits: StreamLimits = {
  mergeMs: 20,
  ringBytes: 2 ** 18,
  replayBytes: 2 ** 20,
  pieceBytes: 2 ** 16,
  lingerMs: 5_000,
  heartbeatMs: 15_000,
  retryMs: 1_000,
  maxLagRecords: 50_000,
  maxLagBytes: 2 ** 23,
  stallTimeoutMs: 60_000,
  maxTasks: 2_000,
  maxViewers: 20_000,
};
