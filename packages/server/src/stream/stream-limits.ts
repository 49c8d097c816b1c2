/** What streams may take. All of it is bounded. */
export interface StreamLimits {
  /** Deltas that come within this time of the last ones are told together; the first is told at once. */
  readonly mergeMs: number;
  /** Recent frames that are kept for whoever comes back, of each view of a task. */
  readonly ringBytes: number;
  /** Frames that are made for those who are further behind than that, shared by them, of each task. */
  readonly replayBytes: number;
  /** At most so much is given to a connection at once. */
  readonly pieceBytes: number;
  /** How long a task nobody watches is still followed. */
  readonly lingerMs: number;
  readonly heartbeatMs: number;
  /** What readers are told to wait before they come back. */
  readonly retryMs: number;
  /** A reader that had caught up and is further behind than that is sent away, to resume. */
  readonly maxLagRecords: number;
  readonly maxLagBytes: number;
  /** One that takes nothing for so long is cut off. */
  readonly stallTimeoutMs: number;
  readonly maxTasks: number;
  readonly maxViewers: number;
}

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
