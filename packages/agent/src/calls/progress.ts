/** Of what one execution tells; the rest is left out, and said to be. */
const maxLength = 1_000_000;
const leftOut = '\n[… and so on …]';

/** What an execution tells while it works: written at once, and together where it comes faster than that. */
export class Progress {
  readonly #write: (text: string) => Promise<void>;
  #next = '';
  #isWriting = false;
  #left = maxLength;
  #isOver = false;

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write;
  }

  tell(text: string): void {
    if (this.#isOver || this.#left === 0) return;
    const room = text.slice(0, this.#left);
    this.#left -= room.length;
    this.#next += this.#left === 0 ? room + leftOut : room;
    if (!this.#isWriting) this.#flush();
  }

  /** What is told from now on comes too late. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#flush();
  }

  #flush(): void {
    const text = this.#next;
    this.#next = '';
    this.#isWriting = text !== '';
    if (text === '') return;
    const done = () => this.#flush();
    // Where it cannot be written down, the run's own next word cannot either.
    this.#write(text).then(done, done);
  }
}
