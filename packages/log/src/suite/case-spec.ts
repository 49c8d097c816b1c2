import type { Log } from '../contract/log.ts';
import type { LogCase, LogSubject } from './log-subject.ts';
import { TestClock } from './test-clock.ts';

/** What a case works with: a log on a new store, and the store's time. */
interface Bench {
  readonly log: Log;
  readonly clock: TestClock;
  /** One more log on the same store; only for cases that need a durable one. */
  another(): Promise<Log>;
}

export interface CaseSpec {
  readonly name: string;
  readonly needsDurable?: true;
  readonly run: (bench: Bench) => Promise<void>;
}

/** The case on a store of its own, which is taken away at the end. */
export function toCase({ name, run }: CaseSpec, subject: LogSubject): LogCase {
  return { name, run: () => onBench(subject, run) };
}

async function onBench(subject: LogSubject, run: CaseSpec['run']): Promise<void> {
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
