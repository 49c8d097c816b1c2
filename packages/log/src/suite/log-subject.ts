import type { Clock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { TestClock } from './test-clock.ts';

/** The kind of store under test. */
export interface LogSubject {
  /** True if a second log on the same store sees the records of the first log. */
  readonly isDurable: boolean;
  /** Creates a new, empty store. All logs on this store must use only the given clock. */
  create(clock: Clock): Promise<LogStore>;
}

/** A store under test. */
export interface LogStore {
  /** Opens a log on the store. A durable store allows several open logs. */
  open(): Promise<Log>;
  /** Deletes the store. The suite calls it once, after all logs on the store are closed. */
  remove(): Promise<void>;
  /**
   * Resolves when no log of the store waits for a different process, such as a database server. The test
   * clock does not advance before that. Only stores in a separate process need this method.
   */
  whenIdle?(): Promise<void>;
}

/** One test of the suite. */
export interface LogCase {
  readonly name: string;
  /** Runs the test. Rejects if the store does not pass. */
  run(): Promise<void>;
}

/** The objects that a test uses: a log on a new store, and the store's clock. */
interface CaseEnvironment {
  readonly log: Log;
  readonly clock: TestClock;
  /** Opens one more log on the same store. Only cases for durable stores use it. */
  another(): Promise<Log>;
}

export interface CaseSpec {
  readonly name: string;
  readonly needsDurable?: true;
  readonly run: (bench: CaseEnvironment) => Promise<void>;
}

/** Returns a test that creates its own store and deletes it at the end. */
export function toCase({ name, run }: CaseSpec, subject: LogSubject): LogCase {
  return { name, run: () => runCase(subject, run) };
}

async function runCase(subject: LogSubject, run: CaseSpec['run']): Promise<void> {
  const clock = new TestClock();
  const store = await subject.create(clock);
  if (store.whenIdle !== undefined) clock.whenIdle = () => store.whenIdle?.();
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
