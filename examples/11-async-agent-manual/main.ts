// An agent transforms the stream of a model, and also sends it to a second destination. Run it with
//   npx node --conditions=@millrace/source examples/11-async-agent-manual/main.ts
import { randomIds } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import {
  type AsyncAgent,
  createServer,
  createToken,
  type Task,
  type TaskMessage,
} from '@millrace/server';
import { rpc } from '../09-sync-agent/rpc.ts';

const provider = scriptedProvider(['Gate B12 is open. Please board now!'], { pieces: 'token' });
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
const closed = Promise.withResolvers<TaskMessage>();
let received = 0;

const announcer: AsyncAgent = {
  type: 'async',
  name: 'announcer',
  async onEvent(_event, { stream, signal, tracing }) {
    await using span = await tracing.span('announce');
    const empty = { type: 'text', author: 'agent', content: '' } as const;
    // The message closes at the end of the block, even if the block throws.
    await using message = await stream.open(empty, { sinks: [() => void received++] });
    const item = { id: ids.item(), turn: 1, attempt: 1 };
    for await (const { deltas } of provider.stream({ items: [] }, { item, ids, signal })) {
      for (const delta of deltas) {
        if (delta.type !== 'append_text') continue;
        const text_delta = delta.chunk.toUpperCase();
        await message.write({ type: 'delta', delta: { type: 'text', text_delta } });
      }
    }
    closed.resolve(await message.close());
    await span.end({ output: { updates: received } });
  },
};

const token = createToken();
const server = createServer({ agents: [announcer], tokens: [token] });
const { url } = await server.listen({ port: 0 });
const agent = { url: `${url}/agents/name/announcer`, token };

const [{ id }] = await rpc<Task>(agent, 'task/create', {});
await rpc(agent, 'event/send', { task_id: id });
const { content, streaming_status } = await closed.promise;
console.log(streaming_status, content.type === 'text' && content.content);
console.log(`the second destination received ${received} updates`);
await server.close();
