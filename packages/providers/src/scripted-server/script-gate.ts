/** Where a reply waits until the test lets it go on. */
export class ScriptGate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  /** Resolves when a reply first stands here: all its steps before have been written. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  /** Lets through who waits and who comes later. */
  open(): void {
    this.#opened.resolve();
  }

  /** For the server: resolves when the gate is open. */
  pass(): Promise<void> {
    this.#reached.resolve();
    return this.#opened.promise;
  }
}

export function newGate(): ScriptGate {
  return new ScriptGate();
}
