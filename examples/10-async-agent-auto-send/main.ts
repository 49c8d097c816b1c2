// An agent that gets events and hands a model's stream over: messages, deltas and their keeping are done
// for it, and whoever watches the task sees them. Run it with
//   npx node --conditions=@millrace/source examples/10-async-agent-auto-send/main.ts
import { scriptedProvider } from '@millrace/providers/scripted';
import { type AsyncAgent, createServer, type Task } from '@millrace/server';
import { rpc } from '../09-sync-agent/rpc.ts';
import { watch } from './watch.ts';

const thought = { kind: 'reasoning', form: 'full', text: 'Water is heavy. ' } as const;
const provider = scriptedProvider(
  [{ content: { parts: [thought, 'An overshot wheel: the water falls into its buckets.'] } }],
  { pieces: 'token', pauseMs: 5 },
);
const kinds: string[] = [];

const miller: AsyncAgent = {
  type: 'async',
  name: 'miller',
  async onEvent({ content }, { messages, toItems, stream }) {
    // It is for the agent to say that an event is a message of the user's.
    if (content !== null) await messages.create(content);
    const items = toItems(await messages.list());
    const sent = await stream.auto(provider, { items });
    kinds.push(...sent.messages.map(({ content: { type } }) => type));
  },
};

const server = createServer({ agents: [miller] });
const { url } = await server.listen({ port: 0 });
const agent = `${url}/agents/name/miller`;

const [{ id }] = await rpc<Task>(agent, 'task/create', {});
const content = { type: 'text', author: 'user', content: 'Which wheel?' };
await rpc(agent, 'event/send', { task_id: id, content });

for await (const event of watch(`${url}/tasks/${id}/stream?view=events`)) {
  if (event.type.endsWith('_delta')) process.stdout.write(event.text ?? '');
  if (event.type === 'run_finished') break;
}
console.log(`\nThe agent has them back: ${kinds.join(', ')}`);
await server.close();
