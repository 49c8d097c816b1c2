// An agent that changes a model's stream on its way, and sends it to more than one place. Run it with
//   npx node --conditions=@millrace/source examples/11-async-agent-manual/main.ts
import { randomIds } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { type AsyncAgent, createServer, type Task, type TaskMessage } from '@millrace/server';
import { rpc } from '../09-sync-agent/rpc.ts';

const provider = scriptedProvider(['The gate is open. Stand back!'], { pieces: 'token' });
const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
const said = Promise.withResolvers<TaskMessage>();
let heard = 0;

const crier: AsyncAgent = {
  type: 'async',
  name: 'crier',
  async onEvent(_event, { stream, signal, tracing }) {
    await using span = await tracing.span('cry');
    const empty = { type: 'text', author: 'agent', content: '' } as const;
    // It closes itself at the end of the block, also where something throws in it.
    await using message = await stream.open(empty, { sinks: [() => void heard++] });
    const item = { id: ids.item(), turn: 1, attempt: 1 };
    for await (const { deltas } of provider.stream({ items: [] }, { item, ids, signal })) {
      for (const delta of deltas) {
        if (delta.type !== 'append_text') continue;
        const text_delta = delta.chunk.toUpperCase();
        await message.write({ type: 'delta', delta: { type: 'text', text_delta } });
      }
    }
    said.resolve(await message.close());
    await span.end({ output: { updates: heard } });
  },
};

const server = createServer({ agents: [crier] });
const { url } = await server.listen({ port: 0 });
const agent = `${url}/agents/name/crier`;

const [{ id }] = await rpc<Task>(agent, 'task/create', {});
await rpc(agent, 'event/send', { task_id: id });
const { content, streaming_status } = await said.promise;
console.log(streaming_status, content.type === 'text' && content.content);
console.log(`another sink heard ${heard} updates`);
await server.close();
