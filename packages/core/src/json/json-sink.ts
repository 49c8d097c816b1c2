/** Is told what the scanner finds, in the order of the text. */
export interface JsonSink {
  openObject(): void;
  openArray(): void;
  /** The innermost object or array is complete. */
  close(): void;
  /** The member whose value comes next. */
  key(name: string): void;
  /** A complete number or literal. */
  scalar(value: number | boolean | null): void;
  openString(): void;
  /** More of the open string: never empty, and never half of a surrogate pair. */
  text(run: string): void;
  closeString(): void;
}
