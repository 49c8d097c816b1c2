/** Chunks of at least this many bytes are kept without a copy. */
const minKeptBytes = 1024;

/** The sizes of the blocks into which smaller chunks are copied. A block is at most as large as all earlier bytes. */
const blockBytes = { min: 1024, max: 65_536 };

/**
 * Collects the chunks of a body. Small chunks are copied into blocks, because each chunk of its own needs about 200
 * bytes of memory in addition to its content. A peer that sends its body in chunks of one byte could otherwise use a
 * hundred times as much memory as the limit of the body.
 */
export class ByteCollector {
  readonly #pieces: Uint8Array[] = [];
  #block = new Uint8Array(0);
  #start = 0;
  #end = 0;
  #length = 0;

  /** The number of collected bytes. */
  get length(): number {
    return this.#length;
  }

  /** Adds a chunk. The caller must not change a chunk after it was added. */
  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (chunk.length >= minKeptBytes) {
      this.#endPiece();
      this.#pieces.push(chunk);
      return;
    }
    if (this.#end + chunk.length > this.#block.length) this.#startBlock();
    this.#block.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Returns all bytes. */
  toBytes(): Uint8Array {
    this.#endPiece();
    const [first, ...others] = this.#pieces;
    if (first !== undefined && others.length === 0) return first;
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  #startBlock(): void {
    this.#endPiece();
    const size = Math.min(Math.max(this.#length, blockBytes.min), blockBytes.max);
    this.#block = new Uint8Array(size);
    this.#start = 0;
    this.#end = 0;
  }

  #endPiece(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}
