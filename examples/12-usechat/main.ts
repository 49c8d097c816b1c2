// Serves an agent to the chat transport of the AI SDK, which useChat uses in a browser. A second
// client connects while the answer streams, and receives the answer from its start. Run it with
//   npx node --conditions=@millrace/source examples/12-usechat/main.ts
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, createToken } from '@millrace/server';
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { z } from 'zod';

const weather = defineTool({
  name: 'weather',
  description: 'Returns the current weather in a town',
  input: z.object({ town: z.string() }),
  execute: async ({ town }) => `${town}: rain`,
});
const call = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'weather' } as const;
const provider = scriptedProvider(
  [
    { content: { parts: ['Let me check. ', { ...call, arguments: '{"town":"Bath"}' }] } },
    'It is raining in Bath now, and it will stay wet until the evening: take an umbrella.',
  ],
  { pieces: 'token', pauseMs: 20 },
);

const log = memoryLog();
const agent = createAgent({ provider, tools: [weather], log });
const agents = [{ type: 'loop', name: 'weather', agent }] as const;
const token = createToken();
const server = createServer({ agents, log, tokens: [token] });
const { url } = await server.listen({ port: 0 });

// In React, write useChat({ id: chatId, resume: true, transport }). The first message creates the
// task.
const chatId = 'weather chat';
const transport = new DefaultChatTransport({
  api: `${url}/agents/name/weather/chat`,
  headers: { authorization: `Bearer ${token}` },
});
const answerStarted = Promise.withResolvers<void>();
const lastText = async (stream: ReadableStream<UIMessageChunk> | null) => {
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: stream ?? new ReadableStream() })) {
    last = message;
    if (message.parts.filter(({ type }) => type === 'text').length > 1) answerStarted.resolve();
  }
  const texts = last?.parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}] `));
  return texts?.filter((text) => !text.startsWith('[step')).join('');
};

const question: UIMessage = {
  id: 'm1',
  role: 'user',
  parts: [{ type: 'text', text: 'Is it raining?' }],
};
const send = { chatId, messages: [question], messageId: undefined, abortSignal: undefined };
const first = lastText(await transport.sendMessages({ trigger: 'submit-message', ...send }));
await answerStarted.promise;
const second = lastText(await transport.reconnectToStream({ chatId }));
console.log('first: ', await first);
console.log('second:', await second);
console.log('later: ', await transport.reconnectToStream({ chatId }));
await server.close();
