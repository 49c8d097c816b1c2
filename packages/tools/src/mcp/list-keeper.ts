import type { Connection } from './connection.ts';
import type { ToolShelf } from './tool-shelf.ts';

interface Keeping {
  readonly shelf: ToolShelf;
  /** Aborts when there is nothing left to keep. */
  readonly closing: AbortSignal;
  readonly timeoutMs: number;
  readonly onChange: () => void;
  readonly onProblem: (error: unknown) => void;
}

/** Reads the lists of a server's tools, one after the other, so that an older never follows a newer one. */
export class ListKeeper {
  readonly #keeping: Keeping;
  #work: Promise<void> = Promise.resolve();
  // However often it changed meanwhile, it is read once more.
  #next: Connection | undefined;

  constructor(keeping: Keeping) {
    this.#keeping = keeping;
  }

  /** The first list: without it there is nothing to use, and so it throws. */
  async read(connection: Connection): Promise<void> {
    const reading = this.#work.then(() => this.#list(connection));
    this.#work = reading.then(
      () => {},
      () => {},
    );
    await reading;
  }

  readAgain(connection: Connection): void {
    const isWaiting = this.#next !== undefined;
    this.#next = connection;
    if (!isWaiting) this.#work = this.#work.then(() => this.#listNext());
  }

  async #listNext(): Promise<void> {
    const connection = this.#next;
    this.#next = undefined;
    const { closing, onChange, onProblem } = this.#keeping;
    try {
      if (connection !== undefined && (await this.#list(connection))) onChange();
    } catch (error) {
      if (!closing.aborted) onProblem(error);
    }
  }

  async #list(connection: Connection): Promise<boolean> {
    const { shelf, closing, timeoutMs } = this.#keeping;
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeoutMs)]);
    const listed = await connection.listTools(signal, (problem) => shelf.tell(problem));
    const isOther = shelf.fill(listed);
    return isOther && !closing.aborted;
  }
}
