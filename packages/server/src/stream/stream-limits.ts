/** Resource limits of streams. */
export interface StreamLimits {
  /**
   * The time for which records are collected after a publication, in milliseconds. They are then published
   * together. The first record after a pause is published immediately. Default: 20.
   */
  readonly mergeMs: number;
  /**
   * Size of the recent frames in memory for reconnecting clients, in bytes per view of a task. Default: 256
   * KiB.
   */
  readonly ringBytes: number;
  /** Size of the cached frames for clients that need older frames, in bytes per task. Default: 1 MiB. */
  readonly replayBytes: number;
  /** Maximum size of one write to a connection in bytes. Default: 64 KiB. */
  readonly pieceBytes: number;
  /**
   * The time for which the server follows a task after its last viewer has left, in milliseconds. Default:
   * 5,000.
   */
  readonly lingerMs: number;
  /** The time without a frame after which a comment is sent, in milliseconds. Default: 15,000. */
  readonly heartbeatMs: number;
  /**
   * The time for which clients should wait before they reconnect, in milliseconds. The stream sends it as
   * `retry:`. Default: 1,000.
   */
  readonly retryMs: number;
  /**
   * Maximum number of records by which a client may lag after it has caught up once. Above it, the client is
   * disconnected and can resume. Default: 50,000.
   */
  readonly maxLagRecords: number;
  /**
   * Maximum number of bytes by which a client may lag after it has caught up once. Above it, the client is
   * disconnected and can resume. Default: 8 MiB.
   */
  readonly maxLagBytes: number;
  /**
   * Maximum time in which the client of any stream reads nothing, in milliseconds. Then the server disconnects
   * it. Default: 60,000.
   */
  readonly stallTimeoutMs: number;
  /** Maximum number of tasks that are streamed at the same time. Default: 2,000. */
  readonly maxTasks: number;
  /** Maximum number of open streams. Default: 20,000. */
  readonly maxViewers: number;
}

/** The default limits of streams. */
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
