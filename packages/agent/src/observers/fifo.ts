/** How many empty places are kept before they are given back. */
const maxEmpty = 1024;

/** First in, first out, each in constant time however much is in it. */
export class Fifo<T> {
  #entries: (T | undefined)[] = [];
  #taken = 0;

  get size(): number {
    return this.#entries.length - this.#taken;
  }

  get first(): T | undefined {
    return this.#entries[this.#taken];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  shift(): T | undefined {
    const { first } = this;
    if (this.size === 0) return undefined;
    // What was taken is not held any longer.
    this.#entries[this.#taken++] = undefined;
    if (this.size === 0 || (this.#taken > maxEmpty && this.#taken > this.size)) {
      this.#entries.splice(0, this.#taken);
      this.#taken = 0;
    }
    return first;
  }
}
