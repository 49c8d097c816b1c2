/** A function of Node. Other engines do not have it. */
interface NodeTimers {
  readonly setImmediate?: (run: () => void) => unknown;
}

interface WaitingReader {
  readonly next: () => void;
  isDone: boolean;
}

/** The waiting readers of each caller, the oldest first. The caller whose turn is next is the first entry. */
const waiting = new Map<unknown, WaitingReader[]>();

function enqueue(reader: WaitingReader, caller: unknown): void {
  const own = waiting.get(caller);
  if (own !== undefined) own.push(reader);
  else if (waiting.set(caller, [reader]).size === 1) schedule();
}

/** Lets one reader continue in each turn of the event loop. The callers take turns, so none waits for many of another. */
function schedule(): void {
  const { setImmediate: later = (run) => setTimeout(run) } = globalThis as NodeTimers;
  later(() => {
    for (const [caller, readers] of waiting) {
      waiting.delete(caller);
      const reader = readers.find(({ isDone }) => !isDone);
      if (reader === undefined) continue;
      const rest = readers.slice(readers.indexOf(reader) + 1);
      if (rest.length > 0) waiting.set(caller, rest);
      reader.isDone = true;
      reader.next();
      break;
    }
    if (waiting.size > 0) schedule();
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
  readonly #callers: Set<unknown>;
  #items = 0;
  #waiting: WaitingReader | undefined;

  /** The caller for whom the reader works. Readers of the same caller share its turns. Default: the reader itself. */
  constructor(caller?: unknown) {
    this.#callers = new Set([caller ?? this]);
  }

  /** Adds a caller who needs the same work. The reader also continues in the turns of this caller. */
  join(caller: unknown): void {
    if (this.#callers.has(caller)) return;
    this.#callers.add(caller);
    if (this.#waiting?.isDone === false) enqueue(this.#waiting, caller);
  }

  /** Counts handled lines or events, and received bytes. Returns a promise if the reader must wait. */
  count(items: number, bytes = 0): Promise<void> | undefined {
    this.#items += items + bytes / itemBytes;
    if (this.#items < maxItems) return undefined;
    this.#items = 0;
    return this.next();
  }

  /** Resolves in a later turn of the event loop. In each turn, only one of the waiting readers continues. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { next: resolve, isDone: false };
    for (const caller of this.#callers) enqueue(this.#waiting, caller);
    return promise;
  }
}
