import type { Batch } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { a2aClient, sent, transcriptOf } from '../../testing/a2a/a2a-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';

test('18.381: attack: a list of tasks reads the session once for each task', async () => {
  const log = memoryLog();
  let records = 0;
  const counted = new Proxy(log, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const call = (...args: unknown[]) => Reflect.apply(value, target, args);
      if (name !== 'read') return call;
      return async (...args: unknown[]) => {
        const page = (await call(...args)) as Batch;
        records += page.records.length;
        return page;
      };
    },
  });
  // The first run never ends, so the other messages wait.
  const endless = { content: { parts: ['One two three'] }, pauseMs: 10_000_000 };
  const { url } = await serveOpenAi([endless], { log: counted });
  const client = await a2aClient(url);
  const first = await client.sendMessage(sent('Go', { returnImmediately: true }));
  const { contextId } = transcriptOf(first);
  const ids: string[] = [];
  for (let more = 0; more < 30; more++) {
    const to = { contextId, returnImmediately: true };
    ids.push(transcriptOf(await client.sendMessage(sent(`Message ${more}`, to))).id);
  }
  const { through = 0 } = (await log.info(contextId)) ?? {};
  records = 0;
  const listed = await fetch(
    `${url}/agents/name/helper/a2a/tasks?contextId=${contextId}&pageSize=100`,
    {
      headers: { 'a2a-version': '1.0' },
    },
  );
  const { tasks } = (await listed.json()) as { tasks: { id: string; status: object }[] };
  expect(tasks.map(({ id }) => id).toSorted()).toEqual([transcriptOf(first).id, ...ids].toSorted());
  // The search for the messages, their commands, and one read of the whole session.
  expect(records).toBeLessThan(4 * through);
});
