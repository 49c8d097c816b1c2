import { defineTool } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { A2aTranscript, a2aClient, sent, transcriptOf } from '../../testing/a2a/a2a-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { testToken } from '../../testing/servers/test-server.ts';
import { readQuestion } from '../openai/response-log.ts';
import { followTask } from './followed-task.ts';

const remove = defineTool({
  ...{ name: 'remove', description: 'Removes', input: z.object({}) },
  execute: async () => 'Removed',
});
const asking = { tools: [remove], approve: () => 'ask' as const };
const operator = testToken('operator');

/** Returns a log that counts how often a session is followed. */
function countFollows(log: Log) {
  let follows = 0;
  const counted = new Proxy(log, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'follow') follows++;
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { log: counted, follows: () => follows };
}

test('18.373: attack: many subscribers of a task keep a state each', async () => {
  const { log, follows } = countFollows(memoryLog());
  const { url } = await serveOpenAi([toolCall('remove', {}, 'c1'), 'Done.'], {
    agent: asking,
    log,
  });
  const client = await a2aClient(url);
  const { id: taskId } = transcriptOf(await client.sendMessage(sent('Go')));
  const subscribe = async () => {
    const events = client.resubscribeTask({ tenant: '', id: taskId })[Symbol.asyncIterator]();
    const transcript = new A2aTranscript();
    const first = await events.next();
    if (first.done !== true) transcript.add(first.value);
    return { transcript, rest: { [Symbol.asyncIterator]: () => events } };
  };
  const readers = [await subscribe()];
  const before = follows();
  for (let more = 0; more < 20; more++) readers.push(await subscribe());
  expect(follows()).toBe(before);
  // The answer sees its own effect, although the shared view follows the log.
  const answered = transcriptOf(await client.sendMessage(sent('yes', { taskId })));
  expect(answered.state).toBe('TASK_STATE_COMPLETED');
  for (const { transcript, rest } of readers) {
    await transcript.read(rest);
    expect([transcript.state, transcript.texts]).toEqual(['TASK_STATE_COMPLETED', ['Done.']]);
  }
});

test('18.374: attack: a link for one session opens streams without a limit', async () => {
  const { url } = await serveOpenAi([toolCall('remove', {}, 'c1')], {
    agent: asking,
    server: { tokens: [operator] },
  });
  const client = await a2aClient(url, { token: operator });
  const { id: taskId, contextId } = transcriptOf(await client.sendMessage(sent('Go')));
  const ask = (token: string, path: string, body?: object) =>
    fetch(url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        ...{ authorization: `Bearer ${token}`, 'a2a-version': '1.0' },
        'content-type': 'application/json',
      },
    });
  const issued = await ask(operator, '/tokens', { task_id: contextId });
  const { token } = (await issued.json()) as { token: string };
  const path = '/agents/name/helper/a2a';
  const get = (by: string) => ask(by, `${path}/tasks/${taskId}:subscribe`);
  const params = { id: taskId };
  const post = (by: string) =>
    ask(by, path, { ...{ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask' }, params });
  // The garbage collector closes the stream of a response that nothing refers to.
  const streams: Response[] = [];
  onTestFinished(async () => {
    for (const { body } of streams) await body?.cancel();
  });
  for (let open = 0; open < 64; open++)
    streams.push(await (open % 2 === 0 ? get(token) : post(token)));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  expect([(await get(token)).status, (await post(token)).status]).toEqual([429, 429]);
  // Other callers are not affected.
  expect((await get(operator)).status).toBe(200);
});

test('18.375: attack: a subscriber that does not read fills the memory', async () => {
  const parts = Array.from({ length: 1100 }, (_, index) => `Part ${index}.`);
  const script = [toolCall('remove', {}, 'c1'), { content: { parts } }];
  const { url, log } = await serveOpenAi(script, { agent: asking });
  const client = await a2aClient(url);
  const { id, contextId } = transcriptOf(await client.sendMessage(sent('Go')));
  const place = { sessionId: contextId, taskId: id, contextId, base: url };
  const question = await readQuestion(
    { taskId: contextId, offset: Number(id.split('_').at(-1)) },
    log,
  );
  const options = { stopsWhenAsked: false };
  const { signal } = new AbortController();
  const slow = followTask({ question, place }, options, { log }, signal);
  await slow.next();
  await client.sendMessage(sent('yes', { taskId: id }));
  const missed = [];
  for await (const event of slow) missed.push(event);
  expect(missed.length).toBeLessThan(1000);
  const { task } = missed.find((event) => 'task' in event) ?? {};
  expect(JSON.stringify(task)).toContain('Part 999.');
  const last = missed.at(-1);
  const ended = last?.['task'] ?? last?.['statusUpdate'];
  expect(ended).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } });
});
