import { UiMessages } from '@millrace/core/streams';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test, vi } from 'vitest';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { countPerTurn } from '../../testing/servers/watched-server.ts';

test('18.504: attack: the messages of a chat with very many messages are read in one step', async () => {
  const log = memoryLog();
  const { url } = await serveOpenAi([], { log });
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return JSON.parse(await reply.text());
  };
  const create = { id: 1, method: 'task/create', params: { name: 'long' } };
  const { result } = await post('/agents/name/helper/rpc', create);
  const contents = Array.from({ length: 1000 }, (_, at) => ({
    ...{ type: 'text', author: at % 2 === 0 ? 'user' : 'agent', content: 'm' },
  }));
  for (let sent = 0; sent < 4; sent++)
    await post('/messages/batch', { task_id: result.id, contents });
  const pages = countPerTurn();
  const add = vi.spyOn(UiMessages.prototype, 'add').mockImplementation(function (
    this: UiMessages,
    batch,
  ) {
    pages.count();
    return original.call(this, batch);
  });
  onTestFinished(() => add.mockRestore());
  const reply = await fetch(`${url}/agents/name/helper/chat/long`);
  const { messages } = (await reply.json()) as { readonly messages: readonly object[] };
  expect(messages).toHaveLength(2000);
  // Three pages of the log, and the server answers other requests before each of them.
  expect(add.mock.calls.length).toBeGreaterThan(2);
  expect(pages.take()).toBe(1);
});

const original = UiMessages.prototype.add;
