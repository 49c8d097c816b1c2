import type { Clock } from '../contract/clock.ts';
import type { Log } from '../contract/log.ts';
import { TestClock } from './test-clock.ts';

/** The kind of store under test. */
export interface LogSubject {
  /** True if a second log on the same store sees what the first one wrote. */
  readonly isDurable: boolean;
  /** Creates a new, empty store. Its logs must use only this clock. */
  create(clock: Clock): Promise<LogStore>;
}

/** A store under test. */
export interface LogStore {
  /** Opens a log on the store. A durable store allows several open logs. */
  open(): Promise<Log>;
  /** Deletes the store. Called once, after its logs are closed. */
  remove(): Promise<void>;
  /**
   * Resolves when no log of the store waits for another process. The test clock stands still until
   * then. Needed only for stores in another process.
   */
  whenIdle?(): Promise<void>;
}

/** One test. `run` rejects if it fails. */
export interface LogCase {
  readonly name: string;
  /** Rejects if the store fails the case. */
  run(): Promise<void>;
}

/** What a test works with: a log on a new store, and the store's clock. */
interface CaseEnvironment {
  readonly log: Log;
  readonly clock: TestClock;
  /** Opens another log on the same store. Only for cases that need a durable store. */
  another(): Promise<Log>;
}

export interface CaseSpec {
  readonly name: string;
  readonly needsDurable?: true;
  readonly run: (bench: CaseEnvironment) => Promise<void>;
}

/** Returns the test, which runs on its own store and deletes the store at the end. */
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
