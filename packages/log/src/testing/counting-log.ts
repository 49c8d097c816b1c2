import type { Batch } from '@millrace/core';
import type { Driver, Log } from '../contract/log.ts';
import { approximateBytes } from '../storage/record-list.ts';

/** Counts the work that a log did for its callers. */
export interface LogWork {
  /** The number of method calls. */
  calls: number;
  /** The number of records that the log returned. */
  records: number;
  /** The approximate size of these records and of the snapshots that the log returned, in bytes. */
  bytesRead: number;
  /** The size of the snapshots that the log stored, in bytes. */
  snapshotBytes: number;
}

/** A log that counts its work. `take` returns the numbers since the last call of `take`. */
export interface CountingLog {
  readonly log: Log;
  take(): LogWork;
}

type Call = (...args: readonly unknown[]) => unknown;

/** Returns a log that counts the calls of its public interface. It works for every store. */
export function countingLog(log: Log): CountingLog {
  const nothing: LogWork = { calls: 0, records: 0, bytesRead: 0, snapshotBytes: 0 };
  let work = { ...nothing };
  const count = (batch: Batch) => {
    work.records += batch.records.length;
    for (const record of batch.records) work.bytesRead += approximateBytes(record);
    return batch;
  };
  const { snapshots } = log;
  const countedSnapshots: Log['snapshots'] = snapshots && {
    async read(...args) {
      work.calls++;
      const parts = await snapshots.read(...args);
      for (const { body } of parts) work.bytesRead += body.length;
      return parts;
    },
    write(...args) {
      work.calls++;
      for (const { body } of args[1].parts) work.snapshotBytes += body.length;
      return snapshots.write(...args);
    },
  };
  async function* followed(batches: AsyncIterable<Batch>) {
    for await (const batch of batches) yield count(batch);
  }
  const counted = new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'snapshots') return countedSnapshots;
      if (typeof value !== 'function') return value;
      const call = value.bind(target) as Call;
      return (...args: readonly unknown[]) => {
        work.calls++;
        const answer = call(...args);
        if (name === 'follow') return followed(answer as AsyncIterable<Batch>);
        if (name === 'read') return (answer as Promise<Batch>).then(count);
        if (name === 'open') return (answer as Promise<Driver>).then((driver) => counting(driver));
        return answer;
      };
    },
  });
  const counting = (driver: Driver) => {
    const append = driver.append.bind(driver);
    driver.append = (drafts) => {
      work.calls++;
      return append(drafts).then(count);
    };
    return driver;
  };
  return {
    log: counted,
    take() {
      const taken = work;
      work = { ...nothing };
      return taken;
    },
  };
}
