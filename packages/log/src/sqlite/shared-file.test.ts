import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log } from '../contract/log.ts';
import { currentProcess, isProcessAlive } from '../storage/process-identity.ts';
import type { CommitPoint } from '../storage/record-store.ts';
import { marker, markers } from '../suite/drafts.ts';
import { Follower, offsets } from '../suite/follower.ts';
import { TestClock } from '../suite/test-clock.ts';
import { type SqliteLogOptions, sqliteLog } from './sqlite-log.ts';

const session = sessionId('s');
const other = sessionId('t');
/** More than the file can hold. */
const oversized = markers(10, 'x'.repeat(100_000));

let folder: string;
const open: Log[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shared-file-'));
});
afterEach(async () => {
  for (const log of open.splice(0)) await log.close();
  rmSync(folder, { recursive: true });
});

function openLog(options: Partial<SqliteLogOptions> = {}): Log {
  const log = sqliteLog({ path: join(folder, 'log.db'), maxBytes: 300_000, ...options });
  open.push(log);
  return log;
}

/** The commit points that were reached, and callbacks for the start of a later transaction. */
class Points {
  readonly reached: CommitPoint[] = [];
  readonly #atBegin = new Map<number, () => void>();

  readonly note = (point: CommitPoint): void => {
    this.reached.push(point);
    if (point === 'before-begin') this.#atBegin.get(this.count('before-begin'))?.();
  };

  count(point: CommitPoint): number {
    return this.reached.filter((one) => one === point).length;
  }

  /** Runs the callback when a later transaction begins. */
  whenBegins(later: number, run: () => void): void {
    this.#atBegin.set(this.count('before-begin') + later, run);
  }
}

describe('a transaction with one job that is too large for the file', () => {
  test('stores the other jobs once, and each driver receives all records since its last batch', async () => {
    const clock = new TestClock();
    const points = new Points();
    const log = openLog({ clock, commitIntervalMs: 2, onPoint: points.note });
    const elsewhere = openLog({ clock, commitIntervalMs: 0 });
    const [small, large] = [await log.open(session), await log.open(other)];
    const first = await small.append([marker('first')]);
    const follower = await new Follower(log, session).reach(1);
    const appended = points.count('after-tell');
    // The first transaction contains all jobs. Then each job has its own; the third is the last
    // one's.
    let submitted: Promise<unknown> | undefined;
    points.whenBegins(4, () => {
      submitted = elsewhere.submit(session, {}, 'between');
    });
    const appends = [
      small.append([marker('second')]),
      large.append(oversized),
      small.append([marker('third')]),
    ] as const;
    await Promise.allSettled(appends);
    const [second, refused, third] = appends;
    await submitted;
    await expect(refused).rejects.toMatchObject({ code: 'storage_full' });
    expect(points.count('after-tell')).toBe(appended + 2);
    expect(first).toMatchObject({ after: 0, through: 1 });
    expect(await second).toMatchObject({ after: 1, through: 2, records: [{ offset: 2 }] });
    expect(await third).toMatchObject({
      after: 2,
      through: 4,
      records: [{ fact: { type: 'command_queued' } }, { fact: { to: 'third' } }],
    });
    await follower.reach(4);
    await follower.leave();
    const received = follower.batches.flatMap(({ records }) => records);
    expect(received.map(({ offset }) => offset)).toEqual([1, 2, 3, 4]);
    expect(await offsets(log, session)).toEqual([1, 2, 3, 4]);
    expect((await small.append([])).through).toBe(4);
  });

  test("loses its driver and that driver's later appends, and keeps the earlier ones", async () => {
    const clock = new TestClock();
    const log = openLog({ clock, commitIntervalMs: 2 });
    const driver = await log.open(session, { leaseMs: Number.POSITIVE_INFINITY });
    const bystander = await log.open(other);
    const appends = [
      driver.append([marker('before')]),
      driver.append(oversized),
      driver.append([marker('after')]),
      driver.closeSession(),
      bystander.append([marker('beside')]),
    ] as const;
    await Promise.allSettled(appends);
    const [before, refused, after, closed, beside] = appends;
    expect(await before).toMatchObject({ after: 0, through: 1 });
    await expect(refused).rejects.toMatchObject({ code: 'storage_full' });
    await expect(after).rejects.toMatchObject({ code: 'storage_full' });
    await expect(closed).rejects.toMatchObject({ code: 'storage_full' });
    expect(await driver.lost).toMatchObject({ code: 'storage_full' });
    expect(await beside).toMatchObject({ through: 1 });
    expect(await offsets(log, session)).toEqual([1]);
    expect(await log.info(session)).toMatchObject({ isClosed: false });
    await driver.release();
    const next = await openLog({ clock }).open(session, { from: 1 });
    expect(await next.append([marker('on')])).toMatchObject({ after: 1, through: 2 });
  });
});

describe('whether a process is alive', () => {
  const here = currentProcess();

  async function goneProcess(): Promise<number> {
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(child, 'exit');
    return child.pid ?? 0;
  }

  test('is known for this process', () => {
    expect(isProcessAlive(here)).toBe(true);
  });

  test('is unknown for another host or PID namespace', () => {
    expect(isProcessAlive({ ...here, host: 'elsewhere' })).toBeUndefined();
    expect(isProcessAlive({ ...here, space: 'pid:[1]' })).toBeUndefined();
    expect(isProcessAlive({ ...here, space: 'pid:[1]', pid: 2 ** 22 + 1 })).toBeUndefined();
  });

  test('is false after the machine was restarted', () => {
    expect(isProcessAlive({ ...here, boot: 'an earlier one' })).toBe(false);
    expect(isProcessAlive({ ...here, boot: 'an earlier one', space: 'pid:[1]' })).toBe(false);
    // 21.C: a container has another host name after the machine was restarted.
    expect(isProcessAlive({ ...here, boot: 'an earlier one', host: 'another' })).toBe(false);
  });

  test('is false for a process that has ended', async () => {
    const pid = await goneProcess();
    expect(isProcessAlive({ ...here, pid })).toBe(false);
  });

  test.runIf(process.platform === 'linux')('is seen where another one has its number', () => {
    expect(isProcessAlive({ ...here, started: '1' })).toBe(false);
  });
});
