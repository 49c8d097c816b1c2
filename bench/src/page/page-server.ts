import { createAgent } from '@millrace/agent';
import type { DeltaWriter } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type ServedAgent, type Server } from '@millrace/server';
import { itemAt, pauseMs, wordAt } from './page-content.ts';

/** The number of messages in one answer. A conversation consists of many short runs. */
const messagesPerAnswer = 10;

export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** Creates a session with this number of items. */
  longSession(count: number): Promise<string>;
  newSession(): Promise<string>;
  /** Starts the long answer. */
  start(task: string): Promise<void>;
}

/**
 * Starts a Millrace server with the given page. Its answers have this number of deltas, and `onWord` is
 * called for each of them.
 */
export async function servePage(
  page: string,
  deltas: number,
  onWord: (count: number) => void,
): Promise<PageServer> {
  const log = memoryLog();
  const agents = [streamingAgent(log, deltas, onWord), many];
  const server: Server = createServer({ tokens: 'none', agents, log, page });
  const { url } = await server.listen({ port: 0 });
  const newTask = async (agent: string) => (await rpc(url, agent, 'task/create', {})).id;
  const send = async (agent: string, task_id: string, text: string) => {
    const content = { type: 'text', author: 'user', content: text };
    await rpc(url, agent, 'message/send', { task_id, content });
  };
  return {
    url,
    async longSession(count) {
      const task = await newTask('many');
      for (let from = 0; from < count; from += messagesPerAnswer)
        await send('many', task, `${from} ${Math.min(messagesPerAnswer, count - from)}`);
      return task;
    },
    newSession: () => newTask('speaker'),
    async start(task_id) {
      const content = { type: 'text', author: 'user', content: 'Go' };
      const params = { task_id, content, stream: true };
      // A reply without a stream would arrive after the whole answer, and `fetch` waits at most 5 minutes.
      const response = await post(url, 'speaker', 'message/send', params);
      await response.body?.cancel();
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function streamingAgent(
  log: ReturnType<typeof memoryLog>,
  deltas: number,
  onWord: (count: number) => void,
): ServedAgent {
  function* write(writer: DeltaWriter): Generator<void> {
    const text = writer.text();
    for (let count = 1; count <= deltas; count++) {
      text.append(wordAt(count));
      onWord(count);
      yield;
    }
    text.commit();
    yield;
  }
  const script = Array.from({ length: 10 }, () => ({ content: { write } }));
  const agent = createAgent({ provider: scriptedProvider(script, { pauseMs }), log });
  return { type: 'loop', name: 'speaker', description: 'Streams a long answer', agent };
}

const many: ServedAgent = {
  ...{ type: 'sync', name: 'many', description: 'Sends many messages' },
  async *onMessage(message) {
    const [from = 0, count = 0] =
      message.type === 'text' ? message.content.split(' ').map(Number) : [];
    for (let index = 0; index < count; index++) {
      const content = { type: 'text', author: 'agent', content: itemAt(from + index) } as const;
      yield { type: 'full', index, content };
    }
  },
};

async function rpc(...request: Parameters<typeof post>): Promise<{ readonly id: string }> {
  const response = await post(...request);
  return ((await response.json()) as { readonly result: { readonly id: string } }).result;
}

function post(url: string, agent: string, method: string, params: object): Promise<Response> {
  return fetch(`${url}/agents/name/${agent}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ method, params }),
  });
}
