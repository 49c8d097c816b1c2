import type { Log } from '../contract/log.ts';
import type { Clock } from '../local/clock.ts';

/** What the suite is held against: a kind of store. */
export interface LogSubject {
  /** Is what one log wrote there for the next one on the same store? */
  readonly isDurable: boolean;
  /** A new and empty store. Its logs have no other time than this clock's. */
  create(clock: Clock): Promise<LogStore>;
}

export interface LogStore {
  /** A log on the store; where it is durable, also a second one beside the first. */
  open(): Promise<Log>;
  /** Called once, when its logs are closed. */
  remove(): Promise<void>;
  /** Where its logs wait for another process: resolves when they do not. Time stands still meanwhile. */
  quiet?(): Promise<void>;
}

/** One claim; `run` rejects where it does not hold. */
export interface LogCase {
  readonly name: string;
  run(): Promise<void>;
}
