import assert from 'node:assert/strict';
import { isMillraceError } from '@millrace/core';
import type { Rows, RowsErrorCode } from '../../contract/rows.ts';

/** The implementation under test. */
export interface RowSubject {
  /** True if rows remain after closing, and a second instance can open the same store. */
  readonly isDurable: boolean;
  /** Creates an empty store. The store must take the time only from this clock. */
  create(clock: { now(): number }): Promise<RowStore>;
}

/** A store of the implementation under test. */
export interface RowStore {
  /** Opens rows on the store. The suite calls it several times if the store is durable. */
  open(): Promise<Rows>;
  /** Removes the store. The suite calls it once, after it has closed all rows. */
  remove(): Promise<void>;
}

/** One test case. */
export interface RowCase {
  readonly name: string;
  /** Runs the case. Rejects if the implementation fails it. */
  run(): Promise<void>;
}

interface RowTestContext {
  readonly rows: Rows;
  /** The current time. It stays the same until a test changes it. */
  readonly clock: { time: number };
  /** Opens a second instance on the same store. Only cases that need a durable store use it. */
  openAnother(): Promise<Rows>;
}

/** A test case that can run with any implementation of `Rows`. `toCase` combines it with one implementation. */
export interface RowSpec {
  readonly name: string;
  readonly needsDurable?: true;
  readonly run: (bench: RowTestContext) => Promise<void>;
}

/** Runs the case on a new store and removes the store afterwards. */
export function toCase({ name, run }: RowSpec, subject: RowSubject): RowCase {
  return {
    name,
    async run() {
      const clock = { time: 1_763_200_000_000 };
      const store = await subject.create({ now: () => clock.time });
      const opened: Rows[] = [];
      const openAnother = async () => {
        const rows = await store.open();
        opened.push(rows);
        return rows;
      };
      try {
        await run({ rows: await openAnother(), clock, openAnother: openAnother });
      } finally {
        for (const rows of opened) await rows.close();
        await store.remove();
      }
    },
  };
}

export async function rejectsWith(code: RowsErrorCode, attempt: Promise<unknown>): Promise<void> {
  const error = await attempt.then(
    () => assert.fail(`expected ${code}, but the operation succeeded`),
    (reason: unknown) => reason,
  );
  if (!isMillraceError(error)) throw error;
  assert.equal(error.code, code, error.message);
}
