/** Counts the irregular updates of an agent by kind. Irregular updates do not fail the task. */
export interface UpdateWarnings {
  /** Updates for an index that `done` or `full` has already closed. They are dropped. */
  readonly late: number;
  /**
   * Updates without the index of a message. Such an update changes the message that was opened last, or opens
   * a message with the next free index.
   */
  readonly unindexed: number;
  /**
   * `start` updates for an index that is already open. Their format, style, attachments and preview are used. If
   * clients have received 8 Mi characters of an answer again because of new formats, later formats are dropped.
   */
  readonly restarted: number;
  /** Deltas whose type differs from the type of the `start` before them. The `start` is dropped. */
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
