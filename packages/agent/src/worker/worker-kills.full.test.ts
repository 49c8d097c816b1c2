import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LogRecord, sessionId, transcript } from '@millrace/core';
import { type Log, snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { patientMs } from '../../../core/src/testing/runs.ts';
import { bundleProgram } from '../testing/bundle-program.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { enqueue } from './create-worker.ts';

let folder: string;
let program: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'worker-kills-'));
  const source = new URL('../testing/worker/run-worker.ts', import.meta.url);
  program = await bundleProgram(source, folder);
}, patientMs(60_000));
afterAll(() => rmSync(folder, { recursive: true }));

const sessions = Array.from({ length: 12 }, (_, at) => sessionId(`order-${at}`));

interface Round {
  readonly log: Log;
  readonly lines: () => readonly string[];
  readonly start: () => ChildProcess;
}

function roundOf(name: string): Round {
  const path = join(folder, `${name}.db`);
  const file = join(folder, `${name}.txt`);
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  const stdio: ['ignore', 'inherit', 'inherit'] = ['ignore', 'inherit', 'inherit'];
  const start = () => spawn(process.execPath, [program, path, file], { stdio });
  return { log: sqliteLog({ path }), lines, start };
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

const driversOf = (records: readonly LogRecord[]) =>
  new Set(records.flatMap(({ fact, producer }) => (fact?.type === 'turn_started' ? producer : [])));

test.each([1, 5, 10])(
  'one of two workers is killed after %i effects: none is lost, and no `never` tool runs twice',
  async (kills) => {
    const { log, lines, start } = roundOf(`killed-${kills}`);
    for (const session of sessions) await enqueue(log, 'Pay', { agent: 'desk', session });
    const [dying, living] = [start(), start()];
    try {
      await until(() => lines().length >= kills);
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
      if (driversOf(records).size > 1 || hasLost(records)) takenOver++;
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
  },
  patientMs(120_000),
);

function hasLost(records: readonly LogRecord[]): boolean {
  return records.some(
    ({ fact }) => fact?.type === 'tool_execution_finished' && fact.outcome === 'lost',
  );
}
