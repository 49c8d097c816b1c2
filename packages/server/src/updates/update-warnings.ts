/** The number of irregular updates of each kind that an agent sent. They do not fail the task. */
export interface UpdateWarnings {
  /** Updates for an index that was already closed by `done` or `full`. They are dropped. */
  readonly late: number;
  /** Updates without an index. They belong to the latest index, or open the next free index. */
  readonly unindexed: number;
  /** `start` updates for an open index. Their format, style, attachments and preview are used. */
  readonly restarted: number;
  /** Deltas of another type than the `start` before them. The `start` is dropped. */
  readonly mismatched: number;
  /** Data that is not valid JSON. It is stored as text. */
  readonly unparsed: number;
  /** `done` updates for an unknown index. They are dropped. */
  readonly unopened: number;
}

export type UpdateWarning = keyof UpdateWarnings;

export const noWarnings: UpdateWarnings = {
  late: 0,
  unindexed: 0,
  restarted: 0,
  mismatched: 0,
  unparsed: 0,
  unopened: 0,
};
