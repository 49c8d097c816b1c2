import assert from 'node:assert/strict';
import { isMillraceError } from '@millrace/core';
import type { Rows, RowsErrorCode } from '../../contract/rows.ts';

/** What the suite is held against: a kind of store. */
export interface RowSubject {
  /** Is what one wrote there for the next one on the same store? */
  readonly isDurable: boolean;
  /** A new and empty store. It has no other time than this clock's. */
  create(clock: { now(): number }): Promise<RowStore>;
}

export interface RowStore {
  /** Rows on the store; where it is durable, also a second one beside the first. */
  open(): Promise<Rows>;
  /** Called once, when all are closed. */
  remove(): Promise<void>;
}

/** One claim; `run` rejects where it does not hold. */
export interface RowCase {
  readonly name: string;
  run(): Promise<void>;
}

interface RowTestContext {
  readonly rows: Rows;
  /** What time it is; it stands still. */
  readonly clock: { time: number };
  /** One more on the same store; only for cases that need a durable one. */
  openAnother(): Promise<Rows>;
}

export interface RowSpec {
  readonly name: string;
  readonly needsDurable?: true;
  readonly run: (bench: RowTestContext) => Promise<void>;
}

/** The case on a store of its own, which is taken away at the end. */
export function toCase({ name, run }: RowSpec, subject: RowSubject): RowCase {
  return {
    name,
    async run() {
      const clock = { time: 1_763_200_000_000 };
      const store = await subject.create({ now: () => clock.time });
      const opened: Rows[] = [];
      const another = async () => {
        const rows = await store.open();
        opened.push(rows);
        return rows;
      };
      try {
        await run({ rows: await another(), clock, openAnother: another });
      } finally {
        for (const rows of opened) await rows.close();
        await store.remove();
      }
    },
  };
}

export async function rejectsWith(code: RowsErrorCode, attempt: Promise<unknown>): Promise<void> {
  const error = await attempt.then(
    () => assert.fail(`expected ${code}, and it was done`),
    (reason: unknown) => reason,
  );
  if (!isMillraceError(error)) throw error;
  assert.equal(error.code, code, error.message);
}
