/** Lines that are read one after the other, by several readers in turn. */
export class LineCursor {
  readonly #lines: AsyncIterator<string>;
  #next: Promise<IteratorResult<string>> | undefined;
  /** How many were read. */
  #number = 0;

  constructor(lines: AsyncIterable<string>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  get number(): number {
    return this.#number;
  }

  /** The one that comes next, and stays there; undefined at the end. */
  async peek(): Promise<string | undefined> {
    this.#next ??= this.#lines.next();
    const { done, value } = await this.#next;
    return done ? undefined : value;
  }

  /** Those that come next, as long as they fit. */
  async *while(fits: (line: string, index: number) => boolean): AsyncGenerator<string> {
    for (let index = 0; ; index++) {
      const line = await this.peek();
      if (line === undefined || !fits(line, index)) return;
      this.#next = undefined;
      this.#number++;
      yield line;
    }
  }
}
