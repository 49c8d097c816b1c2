import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { emptyState, foldBatch, type LogRecord, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { startProcess } from '../../packages/log/src/testing/start-process.ts';
import { checkHistory } from './check-history.ts';
import { FaultReport } from './faults.ts';
import { Randomness } from './randomness.ts';
import { type Kill, Round } from './round.ts';

interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** An empty folder for the log file and the code cache. */
  readonly folder: string;
  /** Called after each round with a line of progress. */
  readonly onRound?: (line: string) => void;
}

interface ChaosResult {
  readonly faults: FaultReport;
  /** Unexpected events, such as a process that exited by itself or a damaged file. */
  readonly failures: readonly string[];
  readonly kills: readonly Kill[];
  readonly records: number;
}

const killsPerRound = 50;

/** Kills processes in rounds on one log file. After each round it checks the reports against the log. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { kills, seed, folder, onRound } = options;
  const random = new Randomness(seed);
  const path = join(folder, 'chaos.db');
  const codeCache = join(folder, 'code');
  await warmCodeCache(codeCache);
  const faults = new FaultReport();
  const failures: string[] = [];
  const killed: Kill[] = [];
  let records = 0;
  for (let number = 1; killed.length < kills && failures.length === 0; number++) {
    const wanted = Math.min(killsPerRound, kills - killed.length);
    const round = new Round({ path, codeCache, number, kills: wanted, random });
    await round.run();
    const finals = await readAll(path, round.sessions);
    const roundFaults = checkHistory({ events: round.history.events, finals });
    faults.addAll(roundFaults);
    failures.push(...round.history.failures, ...foldFailures(finals));
    killed.push(...round.killed);
    for (const { length } of finals.values()) records += length;
    onRound?.(`round ${number}: ${killed.length} kills, ${records} records, ${roundFaults}`);
  }
  failures.push(...fileDamage(path));
  return { faults, failures, kills: killed, records };
}

/** Compiles the code of the worker process once, so that later starts are faster. */
async function warmCodeCache(codeCache: string): Promise<void> {
  const program = new URL('worker-process.ts', import.meta.url);
  const args = [JSON.stringify({ role: 'warm-up' })];
  await startProcess(program, { args, codeCache, onMessage: () => {} }).exit;
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

/** The sessions whose records do not fold because a record is missing. */
function foldFailures(finals: ReadonlyMap<string, readonly LogRecord[]>): readonly string[] {
  return [...finals].flatMap(([session, records]) => {
    const through = records.at(-1)?.offset ?? 0;
    const { outcome } = foldBatch(emptyState(sessionId(session)), { after: 0, through, records });
    return outcome === 'gap' ? [`${session} does not fold`] : [];
  });
}

/** The problems that SQLite's integrity check finds. */
function fileDamage(path: string): readonly string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare('PRAGMA integrity_check').all();
  database.close();
  const found = rows.map((row) => String(row['integrity_check']));
  return found.filter((line) => line !== 'ok');
}
