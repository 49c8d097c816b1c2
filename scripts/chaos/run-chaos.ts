import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { emptyState, foldBatch, sessionId } from '@millrace/core';
import { startProcess } from '../../packages/log/src/testing/start-process.ts';
import { checkHistory } from './check-history.ts';
import { FaultReport } from './faults.ts';
import { Randomness } from './randomness.ts';
import { Backup, type Finals, readAll } from './restore.ts';
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
  /** Descriptions of unexpected events, such as a process that exited or a damaged file. */
  readonly failures: readonly string[];
  readonly kills: readonly Kill[];
  readonly records: number;
  /** The number of injected faults other than kills. */
  readonly others: OtherFaults;
}

interface OtherFaults {
  clockSteps: number;
  pauses: number;
  restores: number;
}

const killsPerRound = 50;

/**
 * Kills processes in several rounds on one log file. After each round, it compares the reports of
 * the processes with the log.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { kills, seed, folder, onRound } = options;
  const random = new Randomness(seed);
  const path = join(folder, 'chaos.db');
  const codeCache = join(folder, 'code');
  await warmCodeCache(codeCache);
  const faults = new FaultReport();
  const failures: string[] = [];
  const killed: Kill[] = [];
  const others: OtherFaults = { clockSteps: 0, pauses: 0, restores: 0 };
  let records = 0;
  for (let number = 1; killed.length < kills && failures.length === 0; number++) {
    const wanted = Math.min(killsPerRound, kills - killed.length);
    const backup = number % 2 === 1 ? new Backup(join(folder, 'backup.db')) : undefined;
    const onMiddle = backup && (() => backup.make(path, round.history.events));
    const round: Round = new Round({ path, codeCache, number, kills: wanted, random, onMiddle });
    await round.run();
    const finals = await readAll(path, round.sessions);
    const roundFaults = checkHistory({ events: round.history.events, finals });
    if (backup !== undefined) {
      await backup.restore(path, finals, roundFaults);
      others.restores++;
    }
    others.clockSteps += round.counts.clockSteps;
    others.pauses += round.counts.pauses;
    faults.addAll(roundFaults);
    failures.push(...round.history.failures, ...foldFailures(finals));
    killed.push(...round.killed);
    for (const { length } of finals.values()) records += length;
    onRound?.(`round ${number}: ${killed.length} kills, ${records} records, ${roundFaults}`);
  }
  failures.push(...fileDamage(path));
  return { faults, failures, kills: killed, records, others };
}

/** Compiles the code of the worker process once, so that later processes start faster. */
async function warmCodeCache(codeCache: string): Promise<void> {
  const program = new URL('worker-process.ts', import.meta.url);
  const args = [JSON.stringify({ role: 'warm-up' })];
  await startProcess(program, { args, codeCache, onMessage: () => {} }).exit;
}

/**
 * Returns a message for each session whose records cannot be folded. The cause is a missing record.
 */
function foldFailures(finals: Finals): readonly string[] {
  return [...finals].flatMap(([session, records]) => {
    const through = records.at(-1)?.offset ?? 0;
    const { outcome } = foldBatch(emptyState(sessionId(session)), { after: 0, through, records });
    return outcome === 'gap' ? [`${session} does not fold`] : [];
  });
}

/** Returns the problems that SQLite's integrity check finds. */
function fileDamage(path: string): readonly string[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare('PRAGMA integrity_check').all();
  database.close();
  const found = rows.map((row) => String(row['integrity_check']));
  return found.filter((line) => line !== 'ok');
}
