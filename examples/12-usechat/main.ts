// A served agent loop, and the AI SDK's chat as its client: what useChat has inside, without a browser.
// A second one comes while the answer streams, and resumes it from its start. Run it with
//   npx node --conditions=@millrace/source examples/12-usechat/main.ts
import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer } from '@millrace/server';
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai';
import { z } from 'zod';

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a town, now',
  input: z.object({ town: z.string() }),
  execute: async ({ town }) => `${town}: rain`,
});
const asks = { kind: 'tool_call', toolCallId: toolCallId('call 1'), name: 'weather' } as const;
const provider = scriptedProvider(
  [
    { content: { parts: ['Let me look. ', { ...asks, arguments: '{"town":"Bath"}' }] } },
    'It rains, and the wheel turns, and the stones turn with it: a good day for grinding.',
  ],
  { pieces: 'token', pauseMs: 20 },
);

const log = memoryLog();
const agent = createAgent({ provider, tools: [weather], log });
const server = createServer({ agents: [{ type: 'loop', name: 'miller', agent }], log });
const { url } = await server.listen({ port: 0 });

// In React: useChat({ id: chatId, resume: true, transport }). The task of that name is made by the first message.
const chatId = 'weather talk';
const transport = new DefaultChatTransport({ api: `${url}/agents/name/miller/chat` });
const isSpeaking = Promise.withResolvers<void>();
const shown = async (stream: ReadableStream<UIMessageChunk> | null) => {
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream: stream ?? new ReadableStream() })) {
    last = message;
    if (message.parts.filter(({ type }) => type === 'text').length > 1) isSpeaking.resolve();
  }
  const texts = last?.parts.map((part) => (part.type === 'text' ? part.text : `[${part.type}] `));
  return texts?.filter((text) => !text.startsWith('[step')).join('');
};

const ask: UIMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Will it turn?' }] };
const send = { chatId, messages: [ask], messageId: undefined, abortSignal: undefined };
const first = shown(await transport.sendMessages({ trigger: 'submit-message', ...send }));
await isSpeaking.promise;
const second = shown(await transport.reconnectToStream({ chatId }));
console.log('first: ', await first);
console.log('second:', await second);
console.log('later: ', await transport.reconnectToStream({ chatId }));
await server.close();
