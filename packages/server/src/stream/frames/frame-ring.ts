import { type Cursor, cursorId } from './cursor.ts';
import type { Told } from './frame-chunk.ts';
import { indexAfter } from './sse.ts';

/** The newest frames of a view, up to a number of bytes. */
export class Ring {
  readonly #maxBytes: number;
  #told: Told[] = [];
  #after: number;
  #through: number;
  #bytes = 0;

  constructor(maxBytes: number, through: number) {
    this.#maxBytes = maxBytes;
    this.#after = through;
    this.#through = through;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Up to where the view was told. */
  get through(): number {
    return this.#through;
  }

  push(told: Told): void {
    this.#through = told.through;
    const last = this.#told.at(-1);
    if (told.bytes.length === 0) {
      if (last === undefined) this.#after = told.through;
      else this.#told[this.#told.length - 1] = { ...last, through: told.through };
      return;
    }
    this.#told.push(told);
    this.#bytes += told.bytes.length;
    if (this.#bytes > this.#maxBytes) this.#shorten();
  }

  /** Forgets what it has: it is not what the log has any more. */
  clear(): void {
    this.#told = [];
    this.#bytes = 0;
    this.#after = this.#through;
  }

  /** What comes after a place that is in here, if it can be entered there. */
  find(cursor: Cursor): Told | undefined {
    const { offset, k } = cursor;
    const told = this.#told.find(({ through }) => through > offset || isInside(through, cursor));
    if (told === undefined || told.after > offset || (told.after === offset && k !== undefined))
      return undefined;
    if (told.after === offset) return told;
    const start = indexAfter(told.bytes, cursorId(cursor));
    return start < 0 ? undefined : { ...told, after: offset, bytes: told.bytes.subarray(start) };
  }

  /** The next place from which it goes on in here. */
  nextEntry(cursor: Cursor): number {
    const { offset } = cursor;
    if (offset < this.#after || isInside(this.#after, cursor)) return this.#after;
    const told = this.#told.find(({ through }) => through > offset || isInside(through, cursor));
    return told?.through ?? this.#through;
  }

  /** Half of it at a time, so that this is seldom done. */
  #shorten(): void {
    let dropped = 0;
    while (this.#bytes > this.#maxBytes / 2) {
      const told = this.#told[dropped];
      if (told === undefined) break;
      this.#after = told.through;
      this.#bytes -= told.bytes.length;
      dropped++;
    }
    this.#told = this.#told.slice(dropped);
  }
}

/** Some of the record there is still to be told. */
function isInside(through: number, { offset, k }: Cursor): boolean {
  return k !== undefined && through === offset;
}
