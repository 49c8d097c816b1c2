/** The result of a run. Both numbers are checked against F1 before a figure is printed. */
export interface RunResult {
  /** Characters of text and arguments in the folded result. */
  readonly characters: number;
  /** Characters streamed live as deltas; undefined if the library emits whole states instead. */
  readonly streamed?: number;
}

/** A library to measure: it turns bytes into the folded result and consumes every event. */
export interface Candidate {
  readonly name: string;
  readonly run: (reads: readonly Uint8Array[]) => Promise<RunResult>;
}
