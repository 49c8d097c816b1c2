import assert from 'node:assert/strict';
import { isMillraceError } from '@millrace/core';
import type { Rows, RowsErrorCode } from '../../contract/rows.ts';

/** The implementation under test. */
export interface RowSubject {
  /** True if rows still exist after closing, and a second instance can open the same store. */
  readonly isDurable: boolean;
  /** Creates an empty store. It must use only the time of this clock. */
  create(clock: { now(): number }): Promise<RowStore>;
}

/** A store of the implementation under test. */
export interface RowStore {
  /** Opens rows on the store. If the store is durable, it is called several times. */
  open(): Promise<Rows>;
  /** Removes the store. It is called once, after all rows are closed. */
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
  /** The current time. It changes only when a test changes it. */
  readonly clock: { time: number };
  /** Opens another instance on the same store. It is only for cases that need a durable store. */
  openAnother(): Promise<Rows>;
}

/** A test case before it is bound to an implementation. */
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
