// An agent that answers each message with a stream of updates, and a client that reads them. Run it with
//   npx node --conditions=@millrace/source examples/09-sync-agent/main.ts
import { createServer, type SyncAgent, type TaskMessage, type Update } from '@millrace/server';
import { rpc } from './rpc.ts';

const delta = (index: number, text_delta: string) =>
  ({ type: 'delta', index, delta: { type: 'text', text_delta } }) as const;

// Two messages at once, by their index. What is open at the end is finished by the server.
const miller: SyncAgent = {
  type: 'sync',
  name: 'miller',
  async *onMessage(question) {
    const asked = question.type === 'text' ? question.content : '';
    yield delta(0, 'The fall is ');
    yield delta(1, `You asked: ${asked}`);
    yield delta(0, 'four metres.');
    // A full one takes the place of what was streamed, and closes its index.
    const content = 'The fall is four metres [1]. [1] The survey of 1820';
    yield { type: 'full', index: 0, content: { type: 'text', author: 'agent', content } };
    yield delta(0, 'too late: dropped');
  },
};

const server = createServer({ agents: [miller] });
const { url } = await server.listen({ port: 0 });
const agent = `${url}/agents/name/miller`;

const content = { type: 'text', author: 'user', content: 'How high is the fall?' };
const send = { task_name: 'mill', content };
for (const update of await rpc<Update>(agent, 'message/send', { ...send, stream: true })) {
  const { type, index } = update;
  if (type === 'delta') console.log(index, type, Object.values(update.delta ?? {}).at(-1));
  else if (type === 'full')
    console.log(index, type, 'content' in update.content && update.content.content);
  else console.log(index, type);
}
const [messages] = await rpc<readonly TaskMessage[]>(agent, 'message/send', send);
for (const { content: said } of messages) console.log('kept:', 'content' in said && said.content);
await server.close();
