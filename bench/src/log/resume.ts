import { join } from 'node:path';
import {
  countingIds,
  DeltaWriter,
  Folder,
  itemId,
  type SessionId,
  sessionId,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { measure } from '../measure.ts';

const deltas = 20_000;

/** Measures how long it takes to load a finished answer of 20,000 deltas. */
export async function compareResume(folder: string): Promise<void> {
  const log = sqliteLog({ path: join(folder, 'resume.db') });
  const [kept, settled] = [sessionId('kept'), sessionId('settled')];
  await finishedTurn(log, kept);
  await finishedTurn(log, settled);
  await log.settle(settled, 1);
  const [keptMs = 0, settledMs = 0] = await measure(
    [() => resume(log, kept), () => resume(log, settled)],
    { rounds: 9, warmUps: 2 },
  );
  console.log(
    `resume of a finished turn of ${deltas} deltas: ${keptMs.toFixed(1)} ms kept, ${settledMs.toFixed(2)} ms settled`,
  );
  await log.close();
}

async function resume(log: Log, session: SessionId): Promise<number> {
  const folder = new Folder(session);
  for await (const batch of log.follow(session, { until: 'idle' })) folder.addBatch(batch);
  return folder.state.through;
}

async function finishedTurn(log: Log, session: SessionId): Promise<void> {
  const driver = await log.open(session);
  const item = itemId('answer');
  const writer = new DeltaWriter({ itemId: item, turn: 1, attempt: 1, ids: countingIds() });
  const text = writer.text();
  const at = { turn: 1, attempt: 1 };
  await driver.append([
    { ...at, fact: { type: 'turn_started' } },
    { ...at, fact: { type: 'item_started', itemId: item, kind: 'assistant' } },
  ]);
  for (let index = 0; index < deltas; index++) {
    text.append('word');
    if (index % 6 === 0) void driver.append(writer.take().map((delta) => ({ ...at, delta })));
  }
  text.commit();
  const stop = { reason: 'stop' } as const;
  await driver.append([
    ...writer.take().map((delta) => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId: item, stop } },
    { ...at, fact: { type: 'turn_finished', itemId: item, stop } },
  ]);
  await driver.release();
}
