import { type LogRecord, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { ClientError } from '../contract/client-error.ts';
import { eventually } from '../testing/eventually.ts';
import { serving } from '../testing/serving.ts';

const words = ['The ', 'wheel ', 'turns', '.'];

async function talked() {
  const log = memoryLog();
  const { client } = await serving(
    [
      {
        ...{ type: 'sync', name: 'miller' },
        async *onMessage() {
          yield {
            type: 'start',
            index: 0,
            content: { type: 'text', author: 'agent', content: '' },
          };
          for (const text_delta of words) {
            yield { type: 'delta', index: 0, delta: { type: 'text', text_delta } };
          }
          yield { type: 'done', index: 0 };
        },
      },
    ],
    { log },
  );
  const task = await client().createTask({ agent: 'miller', name: 'talk' });
  await task.send('Go');
  const isOver = async () => (await task.digest()).stop !== null;
  await eventually(isOver);
  return { log, task };
}

test('records come as the log has them, each delta by itself, from any offset', async () => {
  const { log, task } = await talked();
  const kept: LogRecord[] = [];
  const session = sessionId(task.id);
  for (let from = -1, page = await log.read(session); page.through > from; ) {
    kept.push(...page.records);
    from = page.through;
    page = await log.read(session, { from });
  }
  const batch = await task.records(0);
  expect(batch.records).toEqual(kept);
  const chunks = batch.records.flatMap(({ delta }) =>
    delta?.type === 'append_text' ? [delta.chunk] : [],
  );
  expect(chunks).toEqual(words);
  const rest = await task.records(5);
  expect(rest.records).toEqual(kept.slice(5));
  expect(await task.records(batch.through)).toMatchObject({ through: batch.through, records: [] });
  await expect(task.records(batch.through + 1)).rejects.toBeInstanceOf(ClientError);
});

test('a page has at most as many records as asked for, and the next one continues', async () => {
  const { task } = await talked();
  const all = (await task.records(0)).records;
  const first = await task.records(0, { limit: 3 });
  expect(first).toEqual({ after: 0, through: all[2]?.offset, records: all.slice(0, 3) });
  const next = await task.records(first.through, { limit: 2 });
  expect(next.records).toEqual(all.slice(3, 5));
  expect((await task.records(0, { limit: 10_000 })).records).toEqual(all);
  await expect(task.records(0, { limit: 0 })).rejects.toBeInstanceOf(ClientError);
});

test('an outline sums up the log in segments', async () => {
  const { task } = await talked();
  const { through, records } = await task.records(0);
  const outline = await task.outline();
  expect(outline).toMatchObject({ task_id: task.id, is_whole: true, through });
  expect(outline.segments).toMatchObject([
    { after: 0, through, records: records.length, turns: 1, is_run_start: true, errors: 0 },
  ]);
});

test('a digest says what a task came to, and spans what its agent traced', async () => {
  const { task } = await talked();
  const digest = await task.digest();
  expect(digest).toMatchObject({
    ...{ task_id: task.id, agents: ['miller'], state: 'idle', is_whole: true },
    stop: { reason: 'stop' },
  });
  expect(await task.spans()).toEqual([]);
});

test('a task that does not exist is reported as not found', async () => {
  const { client } = await serving([]);
  const task = client().task('nobody');
  for (const asked of [task.records(0), task.digest()]) {
    await expect(asked).rejects.toMatchObject({ code: 'not_found' });
  }
});
