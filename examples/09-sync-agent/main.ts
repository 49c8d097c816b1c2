// An agent answers each message with a stream of updates. A client reads the updates. Run it with
//   npx node --conditions=@millrace/source examples/09-sync-agent/main.ts
import {
  createServer,
  createToken,
  type SyncAgent,
  type TaskMessage,
  type Update,
} from '@millrace/server';
import { rpc } from './rpc.ts';

const delta = (index: number, text_delta: string) =>
  ({ type: 'delta', index, delta: { type: 'text', text_delta } }) as const;

// This agent streams two messages at the same time. Their index distinguishes them. The server
// closes messages that the agent leaves open.
const orders: SyncAgent = {
  type: 'sync',
  name: 'orders',
  async *onMessage(question) {
    const text = question.type === 'text' ? question.content : '';
    yield delta(0, 'The order arrives ');
    yield delta(1, `You asked: ${text}`);
    yield delta(0, 'on Friday.');
    // A full update replaces the streamed text and closes the message.
    const content = 'The order arrives on Friday [1]. [1] Delivery note 17';
    yield { type: 'full', index: 0, content: { type: 'text', author: 'agent', content } };
    yield delta(0, 'ignored, because the message is closed');
  },
};

const token = createToken();
const server = createServer({ agents: [orders], tokens: [token] });
const { url } = await server.listen({ port: 0 });
const agent = { url: `${url}/agents/name/orders`, token };

const content = { type: 'text', author: 'user', content: 'When does my order arrive?' };
const send = { task_name: 'order 17', content };
for (const update of await rpc<Update>(agent, 'message/send', { ...send, stream: true })) {
  const { type, index } = update;
  if (type === 'delta') console.log(index, type, Object.values(update.delta ?? {}).at(-1));
  else if (type === 'full')
    console.log(index, type, 'content' in update.content && update.content.content);
  else console.log(index, type);
}
const [messages] = await rpc<readonly TaskMessage[]>(agent, 'message/send', send);
for (const { content: stored } of messages)
  console.log('stored:', 'content' in stored && stored.content);
await server.close();
