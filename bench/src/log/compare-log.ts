import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { floor } from '../floor.ts';
import { measure, printRow } from '../measure.ts';
import { textWorkload } from '../workloads.ts';
import { BareSqlite } from './bare-sqlite.ts';
import { compareChain } from './chain.ts';
import { compareDelay } from './delay.ts';
import { type DriveResult, drive } from './drive.ts';
import { compareFollowers } from './followers.ts';
import { compareResume } from './resume.ts';
import { compareThroughput } from './throughput.ts';

/** Measures the cost that the log adds between bytes and events. */
export async function compareLog(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  try {
    console.log('\nThrough the log: committed, then published');
    await compareStores(folder);
    await compareThroughput(folder);
    await compareChain(folder);
    await compareResume(folder);
    await compareFollowers();
    await compareDelay(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const plan = { rounds: 7, warmUps: 2 };

async function compareStores(folder: string): Promise<void> {
  const { reads, title } = textWorkload();
  // Both files are created before the measurement and stay open, because a turn does not open
  // files.
  const log = sqliteLog({ path: join(folder, 'log.db') });
  const plain = new BareSqlite(join(folder, 'bare.db'));
  let last: { readonly driven: DriveResult; readonly transactions: number } | undefined;
  const memory = async () => {
    const inMemory = memoryLog();
    await drive(inMemory, reads);
    await inMemory.close();
  };
  const sqlite = async () => {
    const before = log.transactions;
    const driven = await drive(log, reads);
    last = { driven, transactions: log.transactions - before };
  };
  await sqlite();
  const transactions = last?.transactions ?? 1;
  const bodies = bodiesOf(last?.driven, transactions);
  const bare = async () => plain.write(bodies);
  const [floorMs = 0, memoryMs = 0, sqliteMs = 0, bareMs = 0] = await measure(
    [() => floor(reads), memory, sqlite, bare],
    plan,
  );
  plain.close();
  await log.close();
  printRow(`F1: ${title}`, floorMs, floorMs, '');
  printRow('provider, memory log, fold and events', memoryMs, floorMs, '');
  printRow('bare node:sqlite, the same bytes and transactions', bareMs, floorMs, '');
  const times = (sqliteMs / (memoryMs + bareMs)).toFixed(2);
  printRow(
    'provider, SQLite log, fold and events',
    sqliteMs,
    floorMs,
    `${times} × (memory + bare)   goal: ≤ 1.3`,
  );
  const delay = last?.driven.longestDelayMs.toFixed(1);
  console.log(`${last?.transactions} transactions; longest from receipt to commit: ${delay} ms`);
}

/** Returns texts of about the size that the log writes, in the same number of transactions. */
function bodiesOf(
  driven: DriveResult | undefined,
  transactions: number,
): readonly (readonly string[])[] {
  const bodies = (driven?.batches ?? []).map(({ records }) =>
    records
      .map(({ delta }) => (delta?.type === 'append_text' ? `[0,${delta.at},"${delta.chunk}"]` : ''))
      .join('\n'),
  );
  const size = Math.max(1, Math.ceil(bodies.length / transactions));
  return Array.from({ length: Math.ceil(bodies.length / size) }, (_, index) =>
    bodies.slice(index * size, (index + 1) * size),
  );
}
