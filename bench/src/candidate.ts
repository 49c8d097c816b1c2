/** The result of a run. Both numbers are compared with those of F1 before a figure is printed. */
export interface RunResult {
  /** Characters of text and arguments in the folded result. */
  readonly characters: number;
  /**
   * The number of characters that were streamed live as deltas. Undefined if the library emits
   * whole states instead.
   */
  readonly streamed?: number;
}

/** A library to measure. It turns bytes into the folded result and consumes every event. */
export interface Candidate {
  readonly name: string;
  readonly run: (reads: readonly Uint8Array[]) => Promise<RunResult>;
}
