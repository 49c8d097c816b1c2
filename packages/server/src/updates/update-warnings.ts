/** Counts of irregular updates of an agent. They do not fail the task. */
export interface UpdateWarnings {
  /** Update for an index that was already closed by `done` or `full`. Dropped. */
  readonly late: number;
  /** Update without an index. It went to the latest index, or opened the next free one. */
  readonly unindexed: number;
  /** `start` for an open index. Its format, style, attachments and preview are used. */
  readonly restarted: number;
  /** Delta of another type than the preceding `start`. The `start` is dropped. */
  readonly mismatched: number;
  /** Data that is not valid JSON. Stored as text. */
  readonly unparsed: number;
  /** `done` for an unknown index. Dropped. */
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
