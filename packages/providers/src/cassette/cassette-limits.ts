/** Bounds on what a recorder keeps. What is over them reaches the caller all the same. */
export interface CassetteLimits {
  /** The body of a request and of its response together. */
  readonly maxExchangeBytes: number;
  /** All bodies. */
  readonly maxTotalBytes: number;
  readonly maxChunksPerExchange: number;
  readonly maxExchanges: number;
}

export const defaultCassetteLimits: CassetteLimits = {
  maxExchangeBytes: 64 * 2 ** 20,
  maxTotalBytes: 128 * 2 ** 20,
  maxChunksPerExchange: 2 ** 20,
  maxExchanges: 1000,
};

/** A cassette as text, in UTF-16 units: somewhat less than the longest string that V8 can hold. */
export const maxCassetteLength: number = 2 ** 29 - 2 ** 16;

/** Room for bytes, within a larger room: taken from both or from none. */
export class Room {
  #left: number;
  readonly #around: Room | undefined;

  constructor(bytes: number, around?: Room) {
    this.#left = bytes;
    this.#around = around;
  }

  get left(): number {
    return Math.min(this.#left, this.#around?.left ?? this.#left);
  }

  take(bytes: number): boolean {
    if (bytes > this.left) return false;
    this.#left -= bytes;
    this.#around?.take(bytes);
    return true;
  }
}
