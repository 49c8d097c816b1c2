import type { OnBytes } from '../../contract/http.ts';
import { ServerError } from '../../contract/server-error.ts';

/** Maximum number of bytes in the bodies that the server receives from the callers with the same restricted rights. */
const maxReceivedBytes = 64 * 2 ** 20;

/**
 * The bytes of request bodies that the server has received and not handled yet. Each body has a limit of its own.
 * Without a common limit, a client with few rights could fill the memory with many bodies that it does not finish.
 * Callers with full access have no common limit.
 */
export class ReceivedBodies {
  readonly #maxBytes: number;
  readonly #bytes = new Map<string, number>();

  /** One body always fits. */
  constructor(maxBodyBytes: number) {
    this.#maxBytes = Math.max(maxReceivedBytes, maxBodyBytes);
  }

  /** Counts a body of a restricted caller until `release` is called. `onBytes` throws if it exceeds the limit. */
  receive(restricted: string): { readonly onBytes: OnBytes; readonly release: () => void } {
    let own = 0;
    const release = () => {
      const left = (this.#bytes.get(restricted) ?? 0) - own;
      own = 0;
      if (left > 0) this.#bytes.set(restricted, left);
      else this.#bytes.delete(restricted);
    };
    const add = (bytes: number) => {
      const all = (this.#bytes.get(restricted) ?? 0) + bytes;
      if (all > this.#maxBytes) {
        // The parts of other bodies can follow before the caller of this function releases the refused body.
        release();
        throw tooManyBytes();
      }
      own += bytes;
      this.#bytes.set(restricted, all);
    };
    return { onBytes: add, release };
  }
}

function tooManyBytes(): ServerError {
  const message = 'Cannot receive more requests of your token at the same time. Send them later';
  return new ServerError('rate_limited', message, {}, { retryAfterMs: 1000 });
}
