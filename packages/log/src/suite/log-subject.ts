import type { Clock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { TestClock } from './test-clock.ts';

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

/** What a case works with: a log on a new store, and the store's time. */
interface CaseEnvironment {
  readonly log: Log;
  readonly clock: TestClock;
  /** One more log on the same store; only for cases that need a durable one. */
  another(): Promise<Log>;
}

export interface CaseSpec {
  readonly name: string;
  readonly needsDurable?: true;
  readonly run: (bench: CaseEnvironment) => Promise<void>;
}

/** The case on a store of its own, which is taken away at the end. */
export function toCase({ name, run }: CaseSpec, subject: LogSubject): LogCase {
  return { name, run: () => runCase(subject, run) };
}

async function runCase(subject: LogSubject, run: CaseSpec['run']): Promise<void> {
  const clock = new TestClock();
  const store = await subject.create(clock);
  if (store.quiet !== undefined) clock.quiet = () => store.quiet?.();
  const logs: Log[] = [];
  const another = async () => {
    const log = await store.open();
    logs.push(log);
    return log;
  };
  try {
    await run({ log: await another(), clock, another });
  } finally {
    for (const log of logs) await log.close();
    await store.remove();
  }
}
