import { expect, onTestFinished, test } from 'vitest';
import { compatServer } from '../testing/servers/compat-server.ts';
import { SseReader } from '../testing/sse-reader.ts';
import { recordBatchSchema, rpcResultSchema, streamEventSchema } from './stream-schemas.ts';

test('22.11: what the server sends has the documented form', async () => {
  const url = await compatServer();
  const rpc = async (method: string, params: object) => {
    const response = await fetch(`${url}/agents/name/loop-agent/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 1, method, params }),
    });
    return ((await response.json()) as { readonly result: unknown }).result;
  };
  const task = (await rpc('task/create', {})) as { readonly id: string };
  const path = `/tasks/${task.id}`;
  const readers = ['updates', 'events', 'records', 'ui'].map(
    (view) =>
      new SseReader({
        port: Number(new URL(url).port),
        path: `${path}/stream?view=${view}&from=0`,
      }),
  );
  onTestFinished(() => readers.forEach((reader) => void reader.disconnect()));
  const content = { type: 'text', author: 'user', content: 'Hello' };
  const messages = await rpc('message/send', { task_id: task.id, content });
  const event = await rpc('event/send', { task_id: task.id, content });
  for (const result of [task, messages, event, await rpc('task/cancel', { task_id: task.id })])
    expect(rpcResultSchema.safeParse(result).error).toBeUndefined();
  for (const reader of readers) {
    await reader.waitUntil(({ messages: read }) => read.length > 3);
    for (const { data } of reader.messages.filter((one) => one.data !== '[DONE]'))
      expect(streamEventSchema.safeParse(JSON.parse(data)).error).toBeUndefined();
  }
  const page: unknown = await (await fetch(`${url}${path}/records`)).json();
  const { records } = recordBatchSchema.strict().parse(page);
  expect(records.length).toBeGreaterThan(10);
  for (const { delta, fact } of records) expect(Boolean(delta) !== Boolean(fact)).toBe(true);
});
