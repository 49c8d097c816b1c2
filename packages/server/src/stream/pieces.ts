import type { Clock } from '@millrace/log';
import type { Told } from './told.ts';

/** As long as a storm lasts. */
const keptMs = 2_000;

/**
 * What was read for those who are behind, for a moment: when many come back at once, as they do after
 * a restart, each piece is read and made once.
 */
export class Pieces {
  readonly #maxBytes: number;
  readonly #pending = new Map<string, Promise<Told | undefined>>();
  /** The oldest first. */
  readonly #made = new Map<string, Told>();
  #bytes = 0;
  readonly #clock: Clock;
  #stopClearing: (() => void) | undefined;

  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string, make: () => Promise<Told | undefined>): Promise<Told | undefined> {
    const made = this.#made.get(key);
    if (made !== undefined) return Promise.resolve(made);
    const known = this.#pending.get(key);
    if (known !== undefined) return known;
    const making = make()
      .then((told) => {
        if (this.#pending.get(key) === making && told !== undefined) this.#keep(key, told);
        return told;
      })
      .finally(() => {
        if (this.#pending.get(key) === making) this.#pending.delete(key);
      });
    this.#pending.set(key, making);
    return making;
  }

  clear(): void {
    this.#pending.clear();
    this.#made.clear();
    this.#bytes = 0;
    this.#stopClearing?.();
    this.#stopClearing = undefined;
  }

  #keep(key: string, told: Told): void {
    if (told.bytes.length > this.#maxBytes) return;
    this.#made.set(key, told);
    this.#stopClearing ??= this.#clock.after(keptMs, () => this.clear(), { isIdle: true });
    this.#bytes += told.bytes.length;
    for (const [oldest, { bytes }] of this.#made) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#made.delete(oldest);
      this.#bytes -= bytes.length;
    }
  }
}
