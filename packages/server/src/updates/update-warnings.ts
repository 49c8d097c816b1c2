/** What was odd about an agent's updates, and how often. None of it fails a task. */
export interface UpdateWarnings {
  /** For an index that was closed by a `done` or a `full`: dropped. */
  readonly late: number;
  /** Without an index: went to the one opened last, or opened the next free one. */
  readonly unindexed: number;
  /** A `start` for an index that was open: what it says of format, style and attachments counts, and its preview. */
  readonly restarted: number;
  /** A delta of another type than the `start` before it, which then counts for nothing. */
  readonly mismatched: number;
  /** Data whose text is no JSON: kept as the text that it is. */
  readonly unparsed: number;
  /** A `done` for an index of which nothing is known: dropped. */
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
