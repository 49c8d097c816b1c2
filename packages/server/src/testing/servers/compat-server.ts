import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { onTestFinished } from 'vitest';
import type { UpdateInput } from '../../contract/message.ts';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer, type ServerOptions } from '../../create-server.ts';

const text = (index: number, text_delta: string): UpdateInput => ({
  ...{ type: 'delta', index },
  delta: { type: 'text', text_delta },
});

/** An agent that answers with every kind of message. */
const syncAgent: ServedAgent = {
  type: 'sync',
  name: 'sync-agent',
  description: 'Answers with every kind of message',
  async *onMessage(content) {
    const input = content.type === 'text' ? content.content : content.type;
    const call = { tool_call_id: 'c1', name: 'look' };
    for (const piece of ['I ', 'think'])
      yield {
        ...{ type: 'delta', index: 0 },
        delta: { type: 'reasoning_summary', summary_index: 0, summary_delta: piece },
      };
    yield text(1, 'You said ');
    for (const arguments_delta of ['{"at":', '"it"}'])
      yield { type: 'delta', index: 2, delta: { type: 'tool_request', ...call, arguments_delta } };
    yield text(1, input);
    const result = { type: 'tool_response', author: 'agent', ...call, content: { seen: true } };
    yield { type: 'full', index: 3, content: result } as UpdateInput;
    yield { type: 'done', index: 1 };
  },
};

/** An agent that repeats the message in pieces, through `stream.open`. */
const asyncAgent: ServedAgent = {
  type: 'async',
  name: 'async-agent',
  description: 'Repeats messages',
  async onEvent({ content }, { messages, stream }) {
    if (content === null) return;
    await messages.create(content);
    await using open = await stream.open({ type: 'text', author: 'agent', content: '' });
    const input = content.type === 'text' ? content.content : content.type;
    for (const text_delta of ['Received: ', input])
      await open.write({ type: 'delta', delta: { type: 'text', text_delta } });
  },
};

/** Starts a complete server on a free port, with an agent of each kind. */
export async function compatServer(options: Partial<ServerOptions> = {}): Promise<string> {
  const log = memoryLog();
  const provider = scriptedProvider(['It is ', 'sunny.'], { pieces: 'token' });
  const agents = [
    ...[syncAgent, asyncAgent],
    { type: 'loop', name: 'loop-agent', agent: createAgent({ provider, log }) } as const,
  ];
  const server = createServer({ tokens: 'none', agents, log, ...options });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  return url;
}
