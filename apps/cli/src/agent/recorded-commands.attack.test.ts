import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { exportBlobs, exportSession, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { everythingIn } from '../../../../packages/tools/src/testing/temporary-folder.ts';
import { toolCall } from '../testing/run-print.ts';
import { collect } from '../testing/sessions.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';

test('18.1095: attack: the log gets the content of a denied path that the user saves while a command runs', async () => {
  const cwd = folderWith({ 'private/notes.txt': 'OLD-SALARY', 'a.txt': 'OLD-TEXT' });
  const copies = folderWith();
  const session = sessionId('one');
  const log = memoryLog();
  // Many changes make the recorder store its copies for the next process.
  const many = 'for i in $(seq 300); do echo $i > f$i; done';
  const command = `${many}; touch started; while [ ! -e saved ]; do sleep 0.05; done`;
  const parts = [toolCall('c1', 'bash', { command })];
  const { agent } = await testAgent({
    ...{ cwd, copies, log, provider: scriptedProvider([{ content: { parts } }, 'Done.']) },
    config: { permissions: { mode: 'ask', rules: [{ path: 'private/**', decision: 'deny' }] } },
  });
  const { result, events } = agent.run('Go', { session });
  for await (const { type } of events) if (type === 'approval_asked') break;
  await log.submit(session, { type: 'approve', toolCallId: 'c1' }, 'k');
  await expect.poll(() => existsSync(join(cwd, 'started')), { timeout: 60_000 }).toBe(true);
  writeFileSync(join(cwd, 'private/notes.txt'), 'NEW-SALARY');
  writeFileSync(join(cwd, 'a.txt'), 'NEW-TEXT');
  writeFileSync(join(cwd, 'saved'), '');
  await result;
  const lines = [
    ...(await collect(exportBlobs(log, session))),
    ...(await collect(exportSession(log, session))),
  ].join('\n');
  const encoded = (text: string) => Buffer.from(text).toString('base64').slice(0, 8);
  expect(lines).toContain(encoded('NEW-TEXT'));
  for (const text of ['OLD-SALARY', 'NEW-SALARY']) expect(lines).not.toContain(encoded(text));
  const kept = Object.values(everythingIn(copies)).join();
  expect(kept).toContain('OLD-TEXT');
  expect(kept).not.toContain('SALARY');
  expect(readFileSync(join(cwd, 'private/notes.txt'), 'utf8')).toBe('NEW-SALARY');
});
