/** The work that waits for a turn, by its caller. The caller whose turn is next is the first entry. */
const waiting = new Map<string, (() => void)[]>();

function enqueue(next: () => void, caller: string): void {
  const own = waiting.get(caller);
  if (own !== undefined) own.push(next);
  else if (waiting.set(caller, [next]).size === 1) setImmediate(continueOne);
}

function continueOne(): void {
  for (const [caller, works] of waiting) {
    waiting.delete(caller);
    works.shift()?.();
    if (works.length > 0) waiting.set(caller, works);
    break;
  }
  if (waiting.size > 0) setImmediate(continueOne);
}

/** Maximum number of items that work handles before it waits for a turn. */
const maxItems = 500;

/**
 * Gives the event loop a turn after each part of long work, such as a replay. In each turn of the event loop, the work
 * of only one caller continues. The callers take turns, so the many streams of one client do not delay a stream of
 * another one.
 *
 * @example
 * const turns = new CallerTurns('agent a');
 * for (const record of records) {
 *   handle(record);
 *   await turns.count(1);
 * }
 */
export class CallerTurns {
  readonly #callers: Set<string>;
  #items = 0;
  /** Continues the work while it waits. Later calls have no effect. */
  #next = () => {};

  constructor(caller: string) {
    this.#callers = new Set([caller]);
  }

  /** Adds a caller who needs the same work. The work also continues in the turns of this caller. */
  join(caller: string): void {
    if (this.#callers.has(caller)) return;
    this.#callers.add(caller);
    enqueue(this.#next, caller);
  }

  /** Counts handled items. Returns a promise if the work must wait. */
  count(items: number): Promise<void> | undefined {
    this.#items += items;
    if (this.#items < maxItems) return undefined;
    this.#items = 0;
    return this.next();
  }

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#next = resolve;
    for (const caller of this.#callers) enqueue(resolve, caller);
    return promise;
  }
}
