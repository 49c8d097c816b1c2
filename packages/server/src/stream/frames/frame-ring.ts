import { type Cursor, cursorId } from './cursor.ts';
import type { FrameChunk } from './frame-chunk.ts';

/** Keeps the newest frames of a view in memory, up to a maximum size. */
export class FrameRing {
  readonly #maxBytes: number;
  readonly #idEnd: string;
  #chunks: FrameChunk[] = [];
  #after: number;
  #through: number;
  #bytes = 0;

  /** Creates an empty ring. `idEnd` is the suffix of all frame ids. It follows the position. */
  constructor(maxBytes: number, through: number, idEnd: string) {
    this.#maxBytes = maxBytes;
    this.#idEnd = idEnd;
    this.#after = through;
    this.#through = through;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The offset up to which the view was published. */
  get through(): number {
    return this.#through;
  }

  push(chunk: FrameChunk): void {
    this.#through = chunk.through;
    const last = this.#chunks.at(-1);
    if (chunk.bytes.length === 0) {
      if (last === undefined) this.#after = chunk.through;
      else this.#chunks[this.#chunks.length - 1] = { ...last, through: chunk.through };
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes.length;
    if (this.#bytes > this.#maxBytes) this.#trim();
  }

  /** Removes all frames from memory, because they no longer match the log. */
  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#after = this.#through;
  }

  /**
   * Returns the frames after a cursor. Returns undefined if the ring does not contain them, or if a client
   * cannot resume at this cursor.
   */
  find(cursor: Cursor): FrameChunk | undefined {
    const { offset, k } = cursor;
    const chunk = this.#chunks.find(
      ({ through }) => through > offset || isPartlySent(through, cursor),
    );
    if (chunk === undefined || chunk.after > offset || (chunk.after === offset && k !== undefined))
      return undefined;
    if (chunk.after === offset) return chunk;
    const start = indexAfter(chunk.bytes, `${cursorId(cursor)}${this.#idEnd}`);
    return start < 0 ? undefined : { ...chunk, after: offset, bytes: chunk.bytes.subarray(start) };
  }

  /** Returns the next offset for which the ring has frames. */
  nextEntryOffset(cursor: Cursor): number {
    const { offset } = cursor;
    if (offset < this.#after || isPartlySent(this.#after, cursor)) return this.#after;
    const chunk = this.#chunks.find(
      ({ through }) => through > offset || isPartlySent(through, cursor),
    );
    return chunk?.through ?? this.#through;
  }

  /** Removes old frames until half of the space is free. Freeing a large part makes this step rare. */
  #trim(): void {
    let dropped = 0;
    while (this.#bytes > this.#maxBytes / 2) {
      const chunk = this.#chunks[dropped];
      if (chunk === undefined) break;
      this.#after = chunk.through;
      this.#bytes -= chunk.bytes.length;
      dropped++;
    }
    this.#chunks = this.#chunks.slice(dropped);
  }
}

/** Returns whether the client has only some frames of the record at the cursor. */
function isPartlySent(through: number, { offset, k }: Cursor): boolean {
  return k !== undefined && through === offset;
}

/** Returns the index at which the frame after `id` starts. Returns -1 if the id is not found. */
export function indexAfter(bytes: Buffer, id: string): number {
  const line = `id: ${id}\n`;
  const inner = bytes.subarray(0, line.length).equals(Buffer.from(line))
    ? 0
    : bytes.indexOf(`\n\n${line}`);
  if (inner < 0) return -1;
  const end = bytes.indexOf('\n\n', inner === 0 ? 0 : inner + 2);
  return end < 0 ? -1 : end + 2;
}
