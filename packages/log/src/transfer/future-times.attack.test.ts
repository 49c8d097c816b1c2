import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { memoryLog } from '../memory/memory-log.ts';
import { answer, turnFinished, turnStarted } from '../suite/drafts.ts';
import { exportSession } from './export-session.ts';
import { importSession } from './import-session.ts';

// Somebody sends an export whose times are in the future. The session would stay the newest one.

async function imported(isTrusted: boolean) {
  const [source, target] = [memoryLog(), memoryLog()];
  const driver = await source.open(sessionId('s'));
  await driver.append([turnStarted(1), ...answer(1, ['a']), turnFinished(1)]);
  const lines: string[] = [];
  for await (const line of exportSession(source, sessionId('s'))) lines.push(line);
  const [header = '', ...records] = lines;
  const future = { ...JSON.parse(header), createdAt: 8.6e15, changedAt: 8.6e15 };
  const info = await importSession(target, [JSON.stringify(future), ...records], { isTrusted });
  return { info, now: Date.now() };
}

test('attack 50: an imported session does not come from the future', async () => {
  const { info, now } = await imported(false);
  expect(info.changedAt).toBeLessThanOrEqual(now);
  expect(info.createdAt).toBeLessThanOrEqual(now);
});

test('a session of a trusted log keeps its times', async () => {
  expect((await imported(true)).info).toMatchObject({ createdAt: 8.6e15, changedAt: 8.6e15 });
});
