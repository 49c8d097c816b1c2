import { join } from 'node:path';
import { type DraftRecord, encodeDraft, itemId, partId, sessionId } from '@millrace/core';
import { sqliteLog } from '@millrace/log/sqlite';
import { measure } from '../measure.ts';
import { BareSqlite } from './bare-sqlite.ts';

const batchCount = 2000;
/** The number of records in a batch. One read of a provider has about as many. */
const batchLength = 6;
const head = { turn: 1, attempt: 1 };
const part = partId(1, 1, 'text');
const begin: readonly DraftRecord[] = [
  { ...head, fact: { type: 'item_started', itemId: itemId('i'), kind: 'assistant' } },
  { ...head, delta: { type: 'begin_part', partId: part, itemId: itemId('i'), kind: 'text' } },
];
const batches = Array.from({ length: batchCount }, (_, batch) =>
  Array.from({ length: batchLength }, (_one, index): DraftRecord => {
    const at = (batch * batchLength + index) * 4;
    return { ...head, delta: { type: 'append_text', partId: part, at, chunk: 'word' } };
  }),
);

/**
 * Measures one transaction per batch. It compares the log with SQLite alone, with the same number
 * of transactions.
 */
export async function compareThroughput(folder: string): Promise<void> {
  const log = sqliteLog({ path: join(folder, 'each.db'), commitIntervalMs: 0 });
  const plain = new BareSqlite(join(folder, 'each-bare.db'));
  let sessions = 0;
  const append = async () => {
    const driver = await log.open(sessionId(`throughput ${++sessions}`));
    await driver.append(begin);
    for (const drafts of batches) await driver.append(drafts);
    await driver.release();
  };
  const bodies = batches.map((drafts) => [drafts.map(encodeDraft).join('\n')]);
  const [logMs = 0, bareMs = 0] = await measure([append, async () => plain.write(bodies)], {
    rounds: 5,
    warmUps: 1,
  });
  plain.close();
  await log.close();
  const perSecond = (ms: number) => Math.round((batchCount / ms) * 1000).toLocaleString('en');
  console.log(
    `a transaction for each ${batchLength} records: ${perSecond(logMs)} a second through the log, ` +
      `${perSecond(bareMs)} bare: ${(logMs / bareMs).toFixed(2)} × bare`,
  );
}
