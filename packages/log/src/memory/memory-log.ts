import type { Log } from '../contract/log.ts';
import type { Clock } from '../local/clock.ts';
import { LocalLog } from '../local/local-log.ts';
import { MemoryShelf } from './memory-shelf.ts';

export interface MemoryLogOptions {
  readonly clock?: Clock | undefined;
}

/** A log that ends with its process: for tests, for scripts, and for sessions nobody comes back to. */
export function memoryLog({ clock }: MemoryLogOptions = {}): Log {
  // There is nothing to be won by waiting.
  return new LocalLog(new MemoryShelf(), { clock, commitIntervalMs: 0 });
}
