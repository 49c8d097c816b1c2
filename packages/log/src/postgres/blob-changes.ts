/** What becomes of a count of holds: `count → max(count + added, least)`. It never falls below 0. */
export interface HoldChange {
  added: number;
  least: number;
  putAt: number;
}

/** What a transaction does to blobs, to be told at its end. */
export class BlobChanges {
  readonly puts: Map<string, Uint8Array> = new Map();
  readonly holds: Map<string, HoldChange> = new Map();
  /** Of those is looked whether anybody needs them. */
  readonly dropped: Set<string> = new Set();

  put(hash: string, bytes: Uint8Array, now: number): void {
    this.puts.set(hash, bytes);
    const hold = this.#hold(hash);
    hold.added++;
    hold.least++;
    hold.putAt = now;
  }

  /** A record names it: whoever stored it has done what he held it for. */
  letGo(hash: string): void {
    const hold = this.#hold(hash);
    hold.added--;
    hold.least = Math.max(0, hold.least - 1);
  }

  #hold(hash: string): HoldChange {
    const hold = this.holds.get(hash) ?? { added: 0, least: 0, putAt: 0 };
    this.holds.set(hash, hold);
    return hold;
  }
}
