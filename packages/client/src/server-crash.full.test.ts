import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { type ChildProgram, startProcess } from '../../log/src/testing/start-process.ts';
import type { TaskSnapshot } from './contract/task-handle.ts';
import { createClient } from './create-client.ts';
import { eventually } from './testing/eventually.ts';

const program = new URL('./testing/serve-in-process.ts', import.meta.url);

async function serve(folder: string, port = 0): Promise<{ child: ChildProgram; url: string }> {
  const said = Promise.withResolvers<{ readonly url: string }>();
  const args = [folder, String(port)];
  const child = startProcess(program, { args, onMessage: (told) => said.resolve(told as never) });
  void child.exit.then(({ stderr }) => said.reject(new Error(`It did not start: ${stderr}`)));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await child.exit;
  });
  return { child, ...(await said.promise) };
}

const spoken = ({ items }: TaskSnapshot, place: number) => {
  const part = items[place]?.parts[0];
  return part?.kind === 'text' ? part.text : '';
};

test('a server that is killed in the middle of an answer and comes back is caught up with, by itself: nothing is lost or doubled', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const first = await serve(folder);
  const client = createClient({ url: first.url, backOff: { baseMs: 50, maxMs: 200 } });
  onTestFinished(() => client.close());
  const task = await client.createTask({ agent: 'speaker', name: 'doomed' });
  const shown: string[] = [];
  task.subscribe(() => shown.push(spoken(task.snapshot(), 1)));
  await task.send('Go');
  await task.until((now) => spoken(now, 1).length > 300);
  first.child.kill('SIGKILL');
  await first.child.exit;
  await task.until(({ connection }) => connection.state === 'retrying');
  const told = spoken(task.snapshot(), 1);

  const second = await serve(folder, Number(new URL(first.url).port));
  expect(second.url).toBe(first.url);
  await eventually(() => task.snapshot().connection.state === 'ended');
  const log = sqliteLog({ path: join(folder, 'log.db') });
  onTestFinished(() => log.close());
  expect(task.transcript).toEqual(transcript(await snapshot(log, sessionId(task.id))));
  expect(task.snapshot()).toMatchObject({ isRunning: false, task: { status: 'FAILED' } });
  const whole = spoken(task.snapshot(), 1);
  expect(whole.startsWith(told)).toBe(true);
  const words = whole.trim().split(' ');
  expect(words).toEqual(words.map((_, index) => `word${index + 1}`));
  // The client never removed text that it had shown.
  for (const text of shown) expect(whole.startsWith(text)).toBe(true);

  await task.send('Go on');
  await task.until((now) => spoken(now, 3).length > 100);
  await client.task(task.id).stop();
  await task.until(({ isRunning }) => !isRunning);
  expect(spoken(task.snapshot(), 1)).toBe(whole);
});
