// An agent receives events and passes the stream of a model to the server. The server creates the
// messages, stores them, and streams them to all clients of the task. Run it with
//   npx node --conditions=@millrace/source examples/10-async-agent-auto-send/main.ts
import { scriptedProvider } from '@millrace/providers/scripted';
import { type AsyncAgent, createServer, createToken, type Task } from '@millrace/server';
import { rpc } from '../09-sync-agent/rpc.ts';
import { watch } from './watch.ts';

const reasoning = { kind: 'reasoning', form: 'full', text: 'A west wind brings rain. ' } as const;
const provider = scriptedProvider(
  [{ content: { parts: [reasoning, 'Take an umbrella: it will rain in the afternoon.'] } }],
  { pieces: 'token', pauseMs: 5 },
);
const kinds: string[] = [];

const weather: AsyncAgent = {
  type: 'async',
  name: 'weather',
  async onEvent({ content }, { messages, toItems, stream }) {
    // The agent decides whether an event becomes a user message.
    if (content !== null) await messages.create(content);
    const items = toItems(await messages.list());
    const sent = await stream.auto(provider, { items });
    kinds.push(...sent.messages.map(({ content: { type } }) => type));
  },
};

const token = createToken();
const server = createServer({ agents: [weather], tokens: [token] });
const { url } = await server.listen({ port: 0 });
const agent = { url: `${url}/agents/name/weather`, token };

const [{ id }] = await rpc<Task>(agent, 'task/create', {});
const content = { type: 'text', author: 'user', content: 'Will it rain?' };
await rpc(agent, 'event/send', { task_id: id, content });

for await (const event of watch(`${url}/tasks/${id}/stream?view=events`, token)) {
  if (event.type.endsWith('_delta')) process.stdout.write(event.text ?? '');
  if (event.type === 'run_finished') break;
}
console.log(`\nThe agent received its messages: ${kinds.join(', ')}`);
await server.close();
