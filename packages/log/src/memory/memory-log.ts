import type { Log } from '../contract/log.ts';
import { LocalLog, type LocalLogOptions } from '../local/local-log.ts';
import { MemoryShelf } from './memory-shelf.ts';

export type MemoryLogOptions = Pick<LocalLogOptions, 'clock' | 'bus'>;

/** A log that ends with its process: for tests, for scripts, and for sessions nobody comes back to. */
export function memoryLog({ clock, bus }: MemoryLogOptions = {}): Log {
  // There is nothing to be won by waiting.
  return new LocalLog(new MemoryShelf(), { clock, bus, commitIntervalMs: 0 });
}
