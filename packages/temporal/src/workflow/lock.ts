/** Lets one through at a time, in the order in which they came. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  through<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work);
    this.#last = next.catch(() => {});
    return next;
  }
}
