import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';

const session = sessionId('original');
const copy = sessionId('copy');

const newLogs: Readonly<Record<string, () => Log>> = {
  memory: () => memoryLog(),
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'many-records-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return sqliteLog({ path: join(folder, 'log.db'), commitIntervalMs: 0 });
  },
};

async function countOf(log: Log, of: typeof session): Promise<number> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records.length;
}

describe.each(Object.entries(newLogs))('a log of kind %s', (_kind, newLog) => {
  test('works for more records than the argument limit of a function', async () => {
    const head = { v: 1, time: 0, turn: 0, attempt: 0, producer: 'test' } as const;
    const fact = { type: 'aborted' } as const;
    const records = Array.from({ length: 200_000 }, (_, at) => ({ ...head, offset: at + 1, fact }));
    const target = newLog();
    await target.restore(session, records);
    expect(await countOf(target, session)).toBe(records.length);
    await target.fork(session, { into: copy, through: 150_000 });
    expect(await countOf(target, copy)).toBe(150_000);
    const driver = await target.open(copy, { from: 150_000 });
    const drafts = records.map(() => ({ turn: 0, attempt: 0, fact }));
    const heard = target.follow(copy, { from: 150_000 })[Symbol.asyncIterator]();
    const first = heard.next();
    expect((await driver.append(drafts)).records).toHaveLength(drafts.length);
    expect((await first).value).toMatchObject({ after: 150_000 });
    await heard.return?.();
    await target.close();
  });
});
