import { createAgent, defineTool } from '@millrace/agent';
import { type UiChunk, uiHeaders } from '@millrace/core/streams';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { DefaultChatTransport as TransportOf7 } from 'ai';
import { readUIMessageStream, DefaultChatTransport as TransportOf6, type UIMessage } from 'ai-6';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';

// Checks which versions of the AI SDK can read the server's chunks. Version 7 reads all chunks. Version 6
// stops at chunks that it does not know. The README of this package lists what does not work with version 6.

/** An example of each form of a chunk. The type requires an example for every form. */
const examples: Readonly<Record<Exclude<UiChunk['type'], `data-${string}`>, UiChunk>> = {
  start: { type: 'start', messageId: 'm' },
  'start-step': { type: 'start-step' },
  'finish-step': { type: 'finish-step' },
  'reset-step': { type: 'reset-step' },
  'text-start': { type: 'text-start', id: 'a' },
  'text-delta': { type: 'text-delta', id: 'a', delta: 'x' },
  'text-end': { type: 'text-end', id: 'a' },
  'reasoning-start': { type: 'reasoning-start', id: 'a' },
  'reasoning-delta': { type: 'reasoning-delta', id: 'a', delta: 'x' },
  'reasoning-end': { type: 'reasoning-end', id: 'a' },
  'tool-input-start': { type: 'tool-input-start', toolCallId: 'c', toolName: 't' },
  'tool-input-delta': { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{}' },
  'tool-input-available': {
    ...{ type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: {} },
  },
  'tool-input-error': {
    ...{ type: 'tool-input-error', toolCallId: 'c', toolName: 't', input: '', errorText: 'x' },
  },
  'tool-output-available': { type: 'tool-output-available', toolCallId: 'c', output: 1 },
  'tool-output-error': { type: 'tool-output-error', toolCallId: 'c', errorText: 'x' },
  'tool-output-denied': { type: 'tool-output-denied', toolCallId: 'c' },
  'tool-approval-request': {
    ...{ type: 'tool-approval-request', toolCallId: 'c', approvalId: 'c', reason: 'x' },
  },
  'tool-approval-response': { type: 'tool-approval-response', approvalId: 'c', approved: true },
  file: { type: 'file', url: 'data:,', mediaType: 'image/png' },
  'steering-message': { type: 'steering-message', id: 'i', parts: [{ type: 'text', text: 'x' }] },
  abort: { type: 'abort', reason: 'x' },
  error: { type: 'error', errorText: 'x' },
  finish: { type: 'finish', finishReason: 'stop' },
};
const chunks: readonly UiChunk[] = [
  ...Object.values(examples),
  { type: 'data-tool-progress', data: { text: 'x' }, transient: true },
  { type: 'finish', finishReason: 'interrupted' },
];

interface TransportInit {
  readonly api: string;
  readonly fetch: typeof fetch;
}

interface Reconnecting {
  reconnectToStream(chat: { readonly chatId: string }): Promise<ReadableStream<unknown> | null>;
}

/** Returns the chunks that the transport refuses. */
async function refusedBy(create: (init: TransportInit) => Reconnecting) {
  const refused: UiChunk[] = [];
  for (const chunk of chunks) {
    const body = `data: ${JSON.stringify(chunk)}\n\n`;
    const answer = async () => new Response(body, { headers: uiHeaders });
    const transport = create({ api: 'http://localhost/chat', fetch: answer });
    const stream = await transport.reconnectToStream({ chatId: 'c' });
    const reader = stream?.getReader();
    await reader?.read().catch(() => refused.push(chunk));
  }
  return refused.map((chunk) => ('finishReason' in chunk ? chunk.finishReason : chunk.type));
}

test('22.6: version 7 reads all chunks, and version 6 all but four', async () => {
  expect(await refusedBy((init) => new TransportOf7(init))).toEqual([]);
  expect(await refusedBy((init) => new TransportOf6(init))).toEqual([
    ...['reset-step', 'tool-approval-response', 'steering-message', 'interrupted'],
  ]);
});

test('22.6: version 6 shows an answer with a tool call', async () => {
  const log = memoryLog();
  const look = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({}) },
    execute: async () => 'It is there',
  });
  const provider = scriptedProvider([toolCall('look', {}), 'Yes.']);
  const agent = createAgent({ provider, log, tools: [look] });
  const agents = [{ type: 'loop', name: 'helper', agent }] as const;
  const server = createServer({ tokens: 'none', log, agents });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const { url } = await server.listen({ port: 0 });
  const transport = new TransportOf6({ api: `${url}/agents/name/helper/chat` });
  const question: UIMessage = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'Well?' }] };
  const stream = await transport.sendMessages({
    ...{ chatId: 'talk', messages: [question], messageId: undefined, abortSignal: undefined },
    trigger: 'submit-message',
  });
  let shown: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) shown = message;
  expect(shown?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'tool-look', state: 'output-available', output: 'It is there' },
    { type: 'step-start' },
    { type: 'text', text: 'Yes.' },
  ]);
});
