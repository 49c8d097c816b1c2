import { setImmediate as nextTurn } from 'node:timers/promises';
import type { UnreadReplies } from './unread-replies.ts';

/** Maximum number of turns of the event loop that work leaves to others. */
const maxTurnsLeft = 256;

/**
 * Leaves turns of the event loop to others after work: one turn for each millisecond of the work. Node accepts only one
 * connection in each turn, and a request needs several turns. So work that takes some tenths of a second in each turn
 * would keep others waiting for much longer than the work takes.
 */
export async function leaveTurns(workMs: number): Promise<void> {
  for (let left = Math.min(maxTurnsLeft, workMs); left > 0; left--) await nextTurn();
}

const now = () => performance.now();

/** Runs reads one after the other, with a pause between them for other requests. */
export class ReadQueue {
  readonly #leavesTurns: boolean;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** If `leavesTurns` is true, the pause after a long read is longer, see `leaveTurns`. */
  constructor({ leavesTurns = false } = {}) {
    this.#leavesTurns = leavesTurns;
  }

  /** True if no read runs or waits. */
  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  run<T>(read: () => Promise<T>): Promise<T> {
    this.#waiting++;
    let startedAt = 0;
    const start = () => {
      startedAt = now();
      return read();
    };
    const result = this.#last.then(() => nextTurn()).then(start);
    const done = async () => {
      if (this.#leavesTurns) await leaveTurns(now() - startedAt);
      this.#waiting--;
    };
    this.#last = result.then(done, done);
    return result;
  }

  /** Resolves when the reads that run or wait have ended, with the pause after them. */
  get ended(): Promise<unknown> {
    return this.#last;
  }
}

/** A `ReadQueue` for each caller. The reads of different callers do not wait for each other. */
export class CallerQueues {
  readonly #queues = new Map<string, ReadQueue>();
  readonly #options: { readonly leavesTurns?: boolean };

  constructor(options: { readonly leavesTurns?: boolean } = {}) {
    this.#options = options;
  }

  run<T>(caller: string, read: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(caller) ?? new ReadQueue(this.#options);
    this.#queues.set(caller, queue);
    const result = queue.run(read);
    void queue.ended.then(() => queue.isIdle && this.#queues.delete(caller));
    return result;
  }
}

/** How the server treats a request whose caller has too many unread replies. */
export type WhenFull =
  /** The request is refused. It has changed nothing. */
  | 'refuse'
  /** The reply waits until the caller has read, or until its connections are closed. */
  | 'wait';

/** Prepares a reply when it is the turn of its caller. See `RouteContext.inTurn`. */
export type InTurn = <T>(work: () => Promise<T>, whenFull: WhenFull) => Promise<T>;

/**
 * Prepares replies that need much work or memory. Each caller without full access has one turn at a time, and
 * only while its unread replies are below their limit. The reply must be written in the same turn of the event
 * loop in which the work ends, because the next turn starts after it. Many small requests can therefore
 * neither fill the memory nor keep the server from its other requests.
 */
export class ReplyTurns {
  readonly #unread: UnreadReplies;
  readonly #queues = new CallerQueues({ leavesTurns: true });
  /** The turns of callers with full access. They wait for each other only with their start. */
  #starts: Promise<unknown> = Promise.resolve();
  /** The last request of each restricted caller that waits for its start. */
  readonly #requests = new Map<string, Promise<void>>();

  constructor(unread: UnreadReplies) {
    this.#unread = unread;
  }

  /**
   * Resolves when a request of a caller without full access can start. In each turn of the event loop, only one
   * request of such a caller starts, so that the server can answer others between two of them. After a long start,
   * such as the parsing of a large body, the next one waits for more turns.
   */
  async start(restricted: string): Promise<void> {
    const earlier = this.#requests.get(restricted) ?? Promise.resolve();
    const start = earlier.then(() => nextTurn());
    const isOver = start.then(async () => {
      const startedAt = now();
      await nextTurn();
      await leaveTurns(now() - startedAt - 1);
    });
    this.#requests.set(restricted, isOver);
    void isOver.then(() => {
      if (this.#requests.get(restricted) === isOver) this.#requests.delete(restricted);
    });
    await start;
  }

  async take<T>(
    restricted: string | undefined,
    work: () => Promise<T>,
    whenFull: WhenFull,
  ): Promise<T> {
    if (restricted === undefined) {
      this.#starts = this.#starts.then(() => nextTurn());
      await this.#starts;
      return work();
    }
    for (;;) {
      // The wait is not part of the turn, so that later requests are refused and do not wait too.
      await this.#room(restricted, whenFull);
      const done = await this.#queues.run(restricted, async () => {
        if (whenFull === 'refuse') this.#unread.assertCapacity(restricted);
        return this.#unread.full(restricted) === undefined ? { result: await work() } : undefined;
      });
      if (done !== undefined) return done.result;
    }
  }

  async #room(restricted: string, whenFull: WhenFull): Promise<void> {
    if (whenFull === 'refuse') this.#unread.assertCapacity(restricted);
    else await this.#unread.full(restricted);
  }
}
