/** A function of Node. Other engines do not have it. */
interface NodeTimers {
  readonly setImmediate?: (run: () => void) => unknown;
}

/** The readers that wait for their turn, the oldest first. */
const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop. In each turn, only one of the waiting readers continues. */
function nextTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (waiting.push(resolve) === 1) schedule();
  return promise;
}

function schedule(): void {
  const { setImmediate: later = (run) => setTimeout(run) } = globalThis as NodeTimers;
  later(() => {
    waiting.shift()?.();
    if (waiting.length > 0) schedule();
  });
}

/** Maximum number of lines or events that a reader handles before it waits for a turn. */
const maxItems = 500;

/** The number of bytes that count as one item. */
const itemBytes = 256;

/**
 * Gives the event loop a turn after each part of an answer. Node receives and handles the bytes of a fast peer without
 * a pause, so a peer that sends very many lines could otherwise keep the process from its other work.
 *
 * @example
 * const turns = new ReaderTurns();
 * for await (const bytes of body) {
 *   handle(bytes);
 *   await turns.count(1, bytes.length);
 * }
 */
export class ReaderTurns {
  #items = 0;

  /** Counts handled lines or events, and received bytes. Returns a promise if the reader must wait. */
  count(items: number, bytes = 0): Promise<void> | undefined {
    this.#items += items + bytes / itemBytes;
    if (this.#items < maxItems) return undefined;
    this.#items = 0;
    return nextTurn();
  }
}
