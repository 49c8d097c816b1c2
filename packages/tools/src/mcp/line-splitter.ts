/** Lines out of chunks of bytes, none of them longer than a limit. */
export class LineSplitter {
  readonly #maxBytes: number;
  // The pieces of a line that has not ended: joined once, so that a long one costs no more than its bytes.
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that ended with this chunk. Throws where one is too long. */
  *push(chunk: Buffer): Generator<string> {
    let from = 0;
    for (let to = chunk.indexOf(10); to !== -1; to = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, to));
      from = to + 1;
      yield this.#take();
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) throw tooLong(this.#maxBytes);
    if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#length = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

function tooLong(maxBytes: number): RangeError {
  return new RangeError(`It sent a message of more than ${maxBytes} bytes (maxMessageBytes)`);
}
