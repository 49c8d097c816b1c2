/**
 * Collects resources that must be closed, for `await using`. It is like `AsyncDisposableStack`,
 * which Node 22 does not have.
 */
export class OpenResources implements AsyncDisposable {
  #closers: (() => void | Promise<void>)[] = [];

  /** Adds a function that closes a resource. The functions are called in reverse order. */
  defer(close: () => void | Promise<void>): void {
    this.#closers.push(close);
  }

  /**
   * Moves the resources to a new object. The `await using` block of this object then closes
   * nothing.
   */
  move(): OpenResources {
    const moved = new OpenResources();
    moved.#closers = this.#closers.splice(0);
    return moved;
  }

  /**
   * Closes all resources, even if one of them fails. Throws the error, or an `AggregateError` for
   * several errors.
   */
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
