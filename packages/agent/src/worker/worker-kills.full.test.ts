import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LogRecord, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { postgresLog } from '@millrace/log/postgres';
import { sqliteLog } from '@millrace/log/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundledProgram } from '../../../../scripts/bundled-program.ts';
import { patientMs } from '../../../core/src/testing/runs.ts';
import {
  describeOnPostgres,
  startPostgres,
  type TestPostgres,
} from '../../../log/src/testing/start-postgres.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { enqueue } from './create-worker.ts';

const program = bundledProgram(new URL('../testing/worker/run-worker.ts', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'worker-kills-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const sessions = Array.from({ length: 12 }, (_, at) => sessionId(`order-${at}`));

interface Round {
  readonly log: Log;
  readonly lines: () => readonly string[];
  readonly start: () => ChildProcess;
}

function roundOf(name: string, log: Log, place: string): Round {
  const file = join(folder, `${name}.txt`);
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  const args = [program, place, file];
  const start = () => spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  return { log, lines, start };
}

/** Waits for a condition. The timeout of the test is its limit. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(5);
}

async function isDone(log: Log): Promise<boolean> {
  const infos = await Promise.all(sessions.map((session) => log.info(session)));
  return infos.every((info) => info !== undefined && !info.hasWork);
}

/** The result texts of the calls, by tool. */
async function resultsOf(log: Log, session: string): Promise<ReadonlyMap<string, string>> {
  const items = transcript(await snapshot(log, session));
  const parts = items.flatMap((item) => item.parts);
  return new Map(
    parts.flatMap((part) => (part.kind === 'tool_result' ? [[part.name, part.text] as const] : [])),
  );
}

/** True if one process started the run and another one finished it. */
function isTakenOver(records: readonly LogRecord[]): boolean {
  const producers = records.flatMap(({ fact, producer }) =>
    fact?.type === 'run_started' || fact?.type === 'run_finished' ? producer : [],
  );
  return new Set(producers).size > 1;
}

const title =
  'one of two workers is killed after %i effects: none is lost, and no `never` tool runs twice';

describe('on SQLite', () => {
  test.each([1, 5, 10])(
    title,
    async (effects) => {
      const path = join(folder, `${effects}.db`);
      await killOneOfTwo(roundOf(`sqlite-${effects}`, sqliteLog({ path }), path), effects);
    },
    patientMs(120_000),
  );
});

describeOnPostgres()('on Postgres', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, patientMs(60_000));
  afterAll(() => server?.remove());

  test.each([5])(
    title,
    async (effects) => {
      const { url } = server;
      await killOneOfTwo(roundOf(`postgres-${effects}`, postgresLog({ url }), url), effects);
    },
    patientMs(120_000),
  );
});

async function killOneOfTwo({ log, lines, start }: Round, effects: number): Promise<void> {
  for (const session of sessions) await enqueue(log, 'Pay', { agent: 'desk', session });
  const dying = start();
  // The second worker starts when the first one has taken sessions.
  await until(() => lines().length > 0);
  const living = start();
  try {
    await until(() => lines().length >= effects);
    dying.kill('SIGKILL');
    await once(dying, 'exit');
    await until(() => isDone(log));
    living.kill('SIGTERM');
    const [code] = await once(living, 'exit');
    expect(code).toBe(0);
  } finally {
    for (const child of [dying, living]) if (child.exitCode === null) child.kill('SIGKILL');
  }
  const written = lines();
  let takenOver = 0;
  for (const session of sessions) {
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    expect(findLogProblems(session, records), session).toEqual([]);
    const last = records.findLast(({ fact }) => fact?.type === 'run_finished');
    expect(last?.fact, session).toMatchObject({ stop: { reason: 'stop' } });
    if (isTakenOver(records)) takenOver++;
    const results = await resultsOf(log, session);
    const notes = written.filter((line) => line.startsWith(`note ${session}:`));
    const payments = written.filter((line) => line.startsWith(`pay ${session}:`));
    // A safe tool that was interrupted runs again, with the same key.
    expect(results.get('note'), session).toBe('note done');
    expect(new Set(notes).size, session).toBe(1);
    expect(payments.length, session).toBeLessThanOrEqual(1);
    if (results.get('pay') === 'pay done') expect(payments, session).toHaveLength(1);
    else expect(results.get('pay'), session).toContain('nobody knows whether it was done');
  }
  expect(takenOver).toBeGreaterThan(0);
  await log.close();
}
