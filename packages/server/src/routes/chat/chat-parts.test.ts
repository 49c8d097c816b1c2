import { type AgentOptions, createAgent, defineTool } from '@millrace/agent';
import { toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { type UIMessage, validateUIMessages } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer } from '../../create-server.ts';
import { BrowserChat, type BrowserOptions } from '../../testing/ai-sdk-client.ts';
import { agentText } from '../../testing/servers/task-harness.ts';

// Compares the messages that `useChat` of the AI SDK shows before and after a reload.

async function serve(
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> = {},
  more: readonly ServedAgent[] = [],
) {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(script), log, ...options });
  const agents = [{ type: 'loop', name: 'helper', agent } as const, ...more];
  const limits = { closeTimeoutMs: 200 };
  const server = createServer({ tokens: 'none', log, agents, limits });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const open = (init?: BrowserOptions['init'], name = 'helper') =>
    new BrowserChat({ url, agent: name, id: 'talk', init });
  const reload = async () => {
    const response = await fetch(`${url}/agents/name/helper/chat/talk`);
    const { messages } = (await response.json()) as { readonly messages: UIMessage[] };
    return validateUIMessages({ messages });
  };
  return { open, reload };
}

const png = 'data:image/png;base64,iVBORw0KGgo=';
const note = `data:text/plain;base64,${btoa('The kettle is broken.')}`;
const calls = (name: string) => ({
  content: { parts: [toolCallPart(toolCallId('c1'), name, {})] },
});

test('22.6: files of a message reach the model, and are there after a reload', async () => {
  const kinds: ScriptEntry = ({ items }) =>
    `I got: ${items
      .at(-1)
      ?.parts.map(({ kind }) => kind)
      .join(', ')}.`;
  const { open, reload } = await serve([kinds, kinds]);
  const chat = open();
  const files = [
    { type: 'file', mediaType: 'image/png', url: png } as const,
    { type: 'file', mediaType: 'text/plain', filename: 'note.txt', url: note } as const,
  ];
  await chat.sendMessage({ text: 'See', files });
  expect([chat.error, chat.text]).toEqual([undefined, 'I got: text, media, file.']);
  await chat.sendMessage({ files: files.slice(0, 1) });
  expect([chat.error, chat.text]).toEqual([undefined, 'I got: media.']);
  const [first] = await reload();
  expect(first?.parts).toEqual([
    { type: 'text', text: 'See' },
    { type: 'file', mediaType: 'image/png', url: png },
    { type: 'file', mediaType: 'text/plain', filename: 'note.txt', url: note },
  ]);
});

test('24.7: the metadata of a message is there after a reload, and the model does not see it', async () => {
  const seen: unknown[] = [];
  const listen: ScriptEntry = ({ items }) => {
    seen.push(items.map(({ parts }) => parts));
    return 'Yes.';
  };
  const { open, reload } = await serve([listen, listen]);
  const chat = open();
  const metadata = { page: 'orders', at: 7 };
  await chat.sendMessage({ text: 'Well?', metadata });
  expect((await reload()).map((message) => message.metadata)).toEqual([metadata, undefined]);
  await chat.regenerate();
  expect((await reload()).map((message) => message.metadata)).toEqual([metadata, undefined]);
  expect(JSON.stringify(seen)).not.toContain('orders');
  const large = open();
  await large.sendMessage({ text: 'Well?', metadata: 'x'.repeat(20_000) });
  expect(large.error?.message).toContain('metadata of more than 16384 characters');
});

test('22.6: a file that cannot be read is refused with the reason', async () => {
  const echo = async () => agentText('Yes');
  const { open } = await serve(['No'], {}, [{ type: 'sync', name: 'echo', onMessage: echo }]);
  const chat = open();
  const file = { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' } as const;
  await chat.sendMessage({ text: 'See', files: [file] });
  expect(chat.error?.message).toContain('is not a base64 data URL');
  const other = open(undefined, 'echo');
  await other.sendMessage({ text: 'See', files: [{ ...file, url: png }] });
  expect(other.error?.message).toContain('its agent takes only text');
});

test('22.6: pictures of a tool are parts of the answer, also after a reload', async () => {
  const bytes = Uint8Array.from(atob('iVBORw0KGgo='), (char) => char.charCodeAt(0));
  const shot = defineTool({
    ...{ name: 'shot', description: 'Takes a picture', input: z.object({}) },
    execute: async () => ({
      output: {
        text: 'Here it is',
        attachments: [{ kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } }],
      },
    }),
  });
  const { open, reload } = await serve([calls('shot'), 'Done.'], { tools: [shot] });
  const chat = open();
  await chat.sendMessage({ text: 'Show me' });
  const picture = { type: 'file', mediaType: 'image/png', url: png };
  expect(chat.lastMessage?.parts).toContainEqual(picture);
  expect((await reload()).at(-1)?.parts).toContainEqual(picture);
});

test('22.6: the progress of a tool is streamed while it runs', async () => {
  const seen: unknown[] = [];
  const { promise: isSeen, resolve } = Promise.withResolvers<void>();
  const count = defineTool({
    ...{ name: 'count', description: 'Counts', input: z.object({}) },
    async *execute() {
      yield 'one';
      await isSeen;
      yield ' two';
      return 'counted';
    },
  });
  const { open } = await serve([calls('count'), 'Done.'], { tools: [count] });
  const chat = open({
    onData: (part) => {
      seen.push(part);
      resolve();
    },
  });
  await chat.sendMessage({ text: 'Count' });
  expect(seen).toMatchObject([
    { type: 'data-tool-progress', data: { toolCallId: 'c1', text: 'one' } },
    { type: 'data-tool-progress', data: { toolCallId: 'c1', text: ' two' } },
  ]);
});

test('22.6: after regenerate and a reload, the chat has the messages that were shown', async () => {
  const { open, reload } = await serve(['A', 'B', 'B again', 'B at last', 'C']);
  const chat = open();
  await chat.sendMessage({ text: '1' });
  await chat.sendMessage({ text: '2' });
  await chat.regenerate();
  await chat.regenerate();
  await chat.sendMessage({ text: '3' });
  const textOf = ({ parts }: UIMessage) =>
    parts.flatMap((part) => ('text' in part ? part.text : []));
  expect(chat.messages.flatMap(textOf)).toEqual(['1', 'A', '2', 'B at last', '3', 'C']);
  expect((await reload()).flatMap(textOf)).toEqual(chat.messages.flatMap(textOf));
});

test('22.6: a denied call is denied, live, in a resumed stream and after a reload', async () => {
  const { promise: isAllowed, resolve: allow } = Promise.withResolvers<void>();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: async () => isAllowed.then(() => 'Over'),
  });
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays', input: z.object({}) },
    execute: async () => 'Paid',
  });
  const waits = { content: { parts: [toolCallPart(toolCallId('c2'), 'wait', {})] } };
  const { open, reload } = await serve([calls('pay'), waits, 'Fine.'], {
    tools: [pay, wait],
    approve: ({ call }) => (call.name === 'pay' ? 'ask' : 'allow'),
  });
  const chat = open();
  await chat.sendMessage({ text: 'Pay' });
  await chat.addToolApprovalResponse({ id: 'c1', approved: false, reason: 'Too much' });
  const denied = {
    ...{ type: 'tool-pay', state: 'output-denied' },
    approval: { approved: false, reason: 'Too much' },
  };
  const partIn = (message: UIMessage | undefined) =>
    message?.parts.find(({ type }) => type === 'tool-pay');
  await chat.waitUntil(({ lastMessage }) => lastMessage?.parts.at(-1)?.type === 'tool-wait');
  const other = open();
  const resumed = other.resumeStream();
  await other.waitUntil(({ lastMessage }) => lastMessage?.parts.at(-1)?.type === 'tool-wait');
  allow();
  await resumed;
  await chat.waitUntil(({ text, status }) => text === 'Fine.' && status === 'ready');
  for (const message of [chat.lastMessage, other.lastMessage, (await reload()).at(-1)])
    expect(partIn(message)).toMatchObject(denied);
});
