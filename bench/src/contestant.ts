/** What came out of a run; both are checked against F1 before a figure is printed. */
export interface Outcome {
  /** Characters of text and arguments in the folded result. */
  readonly characters: number;
  /** Characters told live, delta by delta; undefined where the library tells whole states instead. */
  readonly heard?: number;
}

/** The whole way from bytes to the folded result, with every event consumed. */
export interface Contestant {
  readonly name: string;
  readonly run: (reads: readonly Uint8Array[]) => Promise<Outcome>;
}
