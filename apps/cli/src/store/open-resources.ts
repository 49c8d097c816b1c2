/**
 * Collects what must be closed again, for `await using`. It does what `AsyncDisposableStack` does, which
 * Node 22 does not have.
 */
export class OpenResources implements AsyncDisposable {
  #closers: (() => void | Promise<void>)[] = [];

  /** Calls the function when the resources are closed, the last one first. */
  defer(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /** Moves the resources to another object. The end of the block closes nothing then. */
  move(): OpenResources {
    const moved = new OpenResources();
    moved.#closers = this.#closers.splice(0);
    return moved;
  }

  /** Closes everything, also if something fails. Throws what failed, several failures together. */
  async disposeAsync(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1)
      throw new AggregateError(failures, 'Several resources could not be closed');
    if (failures.length === 1) throw failures[0];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}
