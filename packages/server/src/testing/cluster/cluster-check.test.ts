import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId, transcript } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../servers/task-harness.ts';
import { clusterAgent } from './cluster-agent.ts';
import { problemsOf, readToolRuns } from './cluster-check.ts';

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
  const seen = transcript(await snapshot(log, sessionId(id)));
  expect(await problemsOf(log, { id, transcript: seen, sent: ['m1'] })).toEqual([]);
  expect(readToolRuns(done)).toEqual({ charges: 1, looks: 1, problems: [] });

  const [, ...less] = seen;
  expect(await problemsOf(log, { id, transcript: less, sent: ['m1'] })).toHaveLength(1);
  expect(await problemsOf(log, { id, transcript: seen, sent: ['m1', 'm2'] })).toHaveLength(3);
  expect(await problemsOf(log, { id, transcript: seen, sent: [] })).toHaveLength(1);
  // A second run with the same answer is one too many.
  await answered(log, done, 'm1');
  const twice = transcript(await snapshot(log, sessionId(id)));
  expect(await problemsOf(log, { id, transcript: twice, sent: ['m1', 'm1'] })).not.toEqual([]);
  expect(readToolRuns(done).problems).toHaveLength(1);
  writeFileSync(done, 'charge a m1\nlook b m1\nlook c m1\n');
  expect(readToolRuns(done)).toEqual({ charges: 1, looks: 2, problems: [] });
  await log.close();
});
