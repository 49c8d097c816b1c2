import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { emptyState, foldBatch, type LogRecord, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { startProcess } from '../../packages/log/src/testing/start-process.ts';
import { checkHistory } from './check-history.ts';
import { Verdict } from './faults.ts';
import { Randomness } from './randomness.ts';
import { type CountedDeath, Round } from './round.ts';

interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** An empty folder, for the file and whatever else is needed. */
  readonly folder: string;
  /** Hears how it goes. */
  readonly onRound?: (line: string) => void;
}

interface ChaosResult {
  readonly verdict: Verdict;
  /** What was not meant to happen at all: a process that ended by itself, a damaged file. */
  readonly failures: readonly string[];
  readonly deaths: readonly CountedDeath[];
  readonly records: number;
}

const killsPerRound = 50;

/** Kills and goes on, round by round on one file, and looks after each at what was told and what is there. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { kills, seed, folder, onRound } = options;
  const random = new Randomness(seed);
  const path = join(folder, 'chaos.db');
  const codeCache = join(folder, 'code');
  await compileOnce(codeCache);
  const verdict = new Verdict();
  const failures: string[] = [];
  const deaths: CountedDeath[] = [];
  let records = 0;
  for (let number = 1; deaths.length < kills && failures.length === 0; number++) {
    const wanted = Math.min(killsPerRound, kills - deaths.length);
    const round = new Round({ path, codeCache, number, kills: wanted, random });
    await round.run();
    const finals = await readAll(path, round.sessions);
    const judged = checkHistory({ events: round.told.events, finals });
    verdict.addAll(judged);
    failures.push(...round.told.failures, ...unfoldable(finals));
    deaths.push(...round.deaths);
    for (const { length } of finals.values()) records += length;
    onRound?.(`round ${number}: ${deaths.length} kills, ${records} records, ${judged}`);
  }
  failures.push(...damages(path));
  return { verdict, failures, deaths, records };
}

async function compileOnce(codeCache: string): Promise<void> {
  const program = new URL('worker-process.ts', import.meta.url);
  const args = [JSON.stringify({ role: 'nobody' })];
  await startProcess(program, { args, codeCache, onTold: () => {} }).exit;
}

async function readAll(
  path: string,
  sessions: readonly string[],
): Promise<ReadonlyMap<string, readonly LogRecord[]>> {
  const log = sqliteLog({ path });
  const all = new Map<string, readonly LogRecord[]>();
  for (const session of sessions) {
    const records: LogRecord[] = [];
    for (let from = 0; ; ) {
      const page = await log.read(sessionId(session), { from });
      if (page.records.length === 0) break;
      records.push(...page.records);
      from = page.through;
    }
    all.set(session, records);
  }
  await log.close();
  return all;
}

/** The protocol's own opinion: a log that lacks something does not fold. */
function unfoldable(finals: ReadonlyMap<string, readonly LogRecord[]>): readonly string[] {
  return [...finals].flatMap(([session, records]) => {
    const through = records.at(-1)?.offset ?? 0;
    const { outcome } = foldBatch(emptyState(sessionId(session)), { after: 0, through, records });
    return outcome === 'gap' ? [`${session} does not fold`] : [];
  });
}

/** SQLite's own opinion of the file. */
function damages(path: string): readonly string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare('PRAGMA integrity_check').all();
  database.close();
  const found = rows.map((row) => String(row['integrity_check']));
  return found.filter((line) => line !== 'ok');
}
