import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../servers/task-harness.ts';
import { clusterAgent } from './cluster-agent.ts';
import { checkTask, checkToolRuns } from './cluster-check.ts';

const id = 'checked';

async function answered(log: Log, done: string, message: string): Promise<void> {
  const served = clusterAgent(log, done);
  if (served.type !== 'loop') throw new Error('Expected a loop agent');
  await served.agent.run(message, { session: sessionId(id) }).result;
}

test('the check compares sent messages, answers, the client and tool runs', async () => {
  const log = memoryLog();
  const done = join(temporaryFolder(), 'done');
  await answered(log, done, 'm1');
  const view = { id, transcript: transcript(await snapshot(log, sessionId(id))) };
  const clean = 'lost 0 doubled 0 reordered 0 gaps 0 invented 0';
  expect(`${await checkTask(log, { ...view, sent: ['m1'] })}`).toBe(clean);
  const { charges, looks, report } = checkToolRuns(done);
  expect({ charges, looks }).toEqual({ charges: 1, looks: 1 });
  expect(`${report}`).toBe(clean);

  const [, ...less] = view.transcript;
  expect(`${await checkTask(log, { id, transcript: less, sent: ['m1'] })}`).toBe(
    'lost 0 doubled 0 reordered 0 gaps 1 invented 0',
  );
  // A message that was not stored has no answers.
  expect(`${await checkTask(log, { ...view, sent: ['m1', 'm2'] })}`).toBe(
    'lost 3 doubled 0 reordered 0 gaps 0 invented 0',
  );
  expect(`${await checkTask(log, { ...view, sent: [] })}`).toBe(
    'lost 0 doubled 0 reordered 0 gaps 0 invented 3',
  );
  await answered(log, done, 'm2');
  const both = { id, transcript: transcript(await snapshot(log, sessionId(id))) };
  expect(`${await checkTask(log, { ...both, sent: ['m1', 'm2'] })}`).toBe(clean);
  expect(`${await checkTask(log, { ...both, sent: ['m2', 'm1'] })}`).toBe(
    'lost 0 doubled 0 reordered 2 gaps 0 invented 0',
  );
  // The message is stored and answered a second time.
  await answered(log, done, 'm2');
  const twice = { id, transcript: transcript(await snapshot(log, sessionId(id))) };
  expect(`${await checkTask(log, { ...twice, sent: ['m1', 'm2'] })}`).toBe(
    'lost 0 doubled 3 reordered 0 gaps 0 invented 0',
  );
  expect(checkToolRuns(done).report.count('doubled')).toBe(1);
  writeFileSync(done, 'charge a m1\nlook b m1\nlook c m1\n');
  expect(checkToolRuns(done)).toMatchObject({ charges: 1, looks: 2 });
  await log.close();
});
