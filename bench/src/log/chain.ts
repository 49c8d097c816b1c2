import { join } from 'node:path';
import { type DraftRecord, itemId, partId, sessionId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';

const batchCount = 500;
const rounds = 80;
const head = { turn: 1, attempt: 1 };
const part = partId(1, 1, 'text');
const begin: readonly DraftRecord[] = [
  { ...head, fact: { type: 'item_started', itemId: itemId('i'), kind: 'assistant' } },
  { ...head, delta: { type: 'begin_part', partId: part, itemId: itemId('i'), kind: 'text' } },
];

/** Returns batches of streamed text with this number of records each. */
function batchesOf(length: number): readonly (readonly DraftRecord[])[] {
  return Array.from({ length: batchCount }, (_, batch) =>
    Array.from({ length }, (_one, index): DraftRecord => {
      const at = (batch * length + index) * 4;
      return { ...head, delta: { type: 'append_text', partId: part, at, chunk: 'word' } };
    }),
  );
}

/**
 * Measures the CPU time that the hash chain adds to an append. Each append is one transaction. Both logs run
 * in turns. The result compares the fastest tenth of the rounds, because other programs only add time.
 */
export async function compareChain(folder: string): Promise<void> {
  const open = (chain: boolean) =>
    sqliteLog({ path: join(folder, `chain-${chain}.db`), commitIntervalMs: 0, chain });
  await compare('SQLite', open, '   goal: ≤ 1.05');
  await compare('memory', (chain) => memoryLog({ chain }), '');
}

async function compare(name: string, open: (chain: boolean) => Log, goal: string): Promise<void> {
  const logs = [open(false), open(true)] as const;
  for (const length of [1, 6, 24]) {
    const batches = batchesOf(length);
    const [plain, chained]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      plain.push(await cpuUs(logs[0], `${length} ${round}`, batches));
      chained.push(await cpuUs(logs[1], `${length} ${round}`, batches));
    }
    const [before, after] = [fastestTenth(plain), fastestTenth(chained)];
    const times = `${before.toFixed(1)} → ${after.toFixed(1)} µs of CPU`;
    const ratio = (after / before).toFixed(3);
    console.log(`hash chain, ${name}, appends of ${length} records: ${times}, ${ratio} ×${goal}`);
  }
  for (const log of logs) await log.close();
}

/** Returns the CPU time of an append in microseconds. */
async function cpuUs(
  log: Log,
  session: string,
  batches: readonly (readonly DraftRecord[])[],
): Promise<number> {
  const driver = await log.open(sessionId(session));
  await driver.append(begin);
  const before = process.cpuUsage();
  for (const drafts of batches) await driver.append(drafts);
  const { user, system } = process.cpuUsage(before);
  await driver.release();
  return (user + system) / batches.length;
}

function fastestTenth(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)] ?? 0;
}
