/** Aborts a request to which no byte arrives for some time. The time starts with the constructor. */
export class IdleLimit {
  readonly #controller = new AbortController();
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `ms` is the maximum time without a byte, in milliseconds. */
  constructor(ms: number) {
    this.#ms = ms;
    this.restart();
  }

  /** The signal for the request. It is aborted when the time is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the time again. Call this when bytes arrive. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), this.#ms);
  }

  /** Ends the limit. Call this after the request. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}
