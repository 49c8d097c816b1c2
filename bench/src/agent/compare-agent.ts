import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { floor } from '../floor.ts';
import { drive } from '../log/drive.ts';
import { compareRuns, printComparison } from '../measure.ts';
import { textWorkload } from '../workloads.ts';
import { compareFirstRuns } from './first-runs.ts';
import { streamMany } from './many-sessions.ts';
import { wholeRun } from './whole-run.ts';

const plan = { rounds: 21, warmUps: 5 };

/** Measures the cost that the agent loop adds to provider, log and fold. */
export async function compareAgent(): Promise<void> {
  console.log('\nA whole run: a call, its tool, then 20,000 text deltas; every event consumed');
  await compareWarmRuns();
  compareFirstRuns();
  await streamMany();
}

async function compareWarmRuns(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const log = sqliteLog({ path: join(folder, 'agent.db') });
  const { reads, title } = textWorkload();
  // Each run gets a new log, because a real program does not keep the records of 26 runs in memory.
  const onMemory = async (run: typeof wholeRun | typeof drive) => {
    const inMemory = memoryLog();
    await run(inMemory, reads);
    await inMemory.close();
  };
  const rows = [
    { name: `F1: ${title}`, goal: '', run: () => floor(reads) },
    {
      name: 'provider, memory log, fold and events: the layers below',
      ...{ goal: '', run: () => onMemory(drive) },
    },
    {
      name: 'agent.run on the memory log',
      ...{ goal: 'goal: ≤ 1.2', run: () => onMemory(wholeRun) },
    },
    {
      name: 'agent.run on the SQLite log',
      ...{ goal: 'goal: ≤ 1.6', run: () => wholeRun(log, reads) },
    },
  ];
  try {
    const compared = await compareRuns(
      rows.map(({ run }) => run),
      plan,
    );
    console.log(`warm; medians of ${plan.rounds} rounds after ${plan.warmUps}:`);
    for (const [index, one] of compared.entries())
      printComparison(rows[index]?.name ?? '', one, rows[index]?.goal ?? '');
  } finally {
    await log.close();
    rmSync(folder, { recursive: true });
  }
}
