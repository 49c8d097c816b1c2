import type { Clock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { TestClock } from './test-clock.ts';

/** The kind of store under test. */
export interface LogSubject {
  /** True if a second log on the same store sees the records of the first log. */
  readonly isDurable: boolean;
  /** Creates a new, empty store. The logs on it must use only this clock. */
  create(clock: Clock): Promise<LogStore>;
}

/** A store under test. */
export interface LogStore {
  /** Opens a log on the store. A durable store allows several open logs. */
  open(): Promise<Log>;
  /** Deletes the store. It is called once, after all logs on the store are closed. */
  remove(): Promise<void>;
  /**
   * Resolves when no log of the store waits for another process. The test clock does not advance before
   * that. Only stores in another process need it.
   */
  whenIdle?(): Promise<void>;
}

/** One test of the suite. */
export interface LogCase {
  readonly name: string;
  /** Runs the test. Rejects if the store fails it. */
  run(): Promise<void>;
}

/** The objects that a test uses: a log on a new store, and the store's clock. */
interface CaseEnvironment {
  readonly log: Log;
  readonly clock: TestClock;
  /** Opens another log on the same store. It is only for cases that need a durable store. */
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
