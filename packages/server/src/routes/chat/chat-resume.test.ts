import { createAgent, defineTool } from '@millrace/agent';
import { type Part, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../../core/src/testing/runs.ts';
import type { UpdateInput } from '../../contract/message.ts';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import { BrowserChat } from '../../testing/ai-sdk-client.ts';
import { CuttingProxy } from '../../testing/cutting-proxy.ts';
import { agentText, textDelta } from '../../testing/servers/task-harness.ts';

const words = ['It ', 'is ', 'a ', 'long — 😀 ', 'story', ', ', 'and ', 'it ', 'ends', '.'];

/** Streams the words one at a time. The test releases each word. */
class PacedAgent {
  #left = 0;
  #wake: () => void = () => {};

  /** Releases this many more words. */
  allow(count: number): void {
    this.#left += count;
    this.#wake();
  }

  async *stream(): AsyncGenerator<UpdateInput> {
    yield { type: 'start', index: 0, content: agentText('') };
    for (const word of words) {
      while (this.#left === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#left--;
      yield textDelta(0, word);
    }
    yield { type: 'done', index: 0 };
  }
}

async function serve(agents: (log: Log) => readonly ServedAgent[]) {
  const log = memoryLog();
  const limits = { closeTimeoutMs: 200 };
  const server = createServer({ tokens: 'none', log, agents: agents(log), limits });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const browse = (id: string, port = new URL(url).port) =>
    new BrowserChat({ url: `http://127.0.0.1:${port}`, agent: 'helper', id });
  return { browse, port: Number(new URL(url).port) };
}

test('a message that is cut at any byte is resumed without lost or repeated words', async () => {
  const agents = new Map<string, PacedAgent>();
  const { browse, port } = await serve(() => [
    {
      ...{ type: 'sync', name: 'helper' },
      onMessage: (_content, { task }) => agents.get(task.name ?? '')?.stream() ?? expect.fail(),
    },
  ]);
  let chats = 0;
  const before = fc.integer({ min: 1, max: words.length - 1 });
  await fc.assert(
    fc.asyncProperty(before, fc.integer({ min: 1, max: 1200 }), async (count, cutAt) => {
      const id = `chat-${++chats}`;
      const agent = new PacedAgent();
      agents.set(id, agent);
      // Each test needs a new proxy, because a connection of a different chat must not be reused.
      const proxy = await CuttingProxy.before(port);
      proxy.cutNext(cutAt);
      const [chat, other] = [browse(id, `${proxy.port}`), browse(id)];
      const sent = chat.sendMessage({ text: 'Tell me' });
      agent.allow(count);
      const expected = words.slice(0, count).join('');
      await chat.waitUntil(({ text, status }) => text === expected || status === 'error');
      if (chat.status !== 'error') await chat.stop();
      await sent;
      expect(expected.startsWith(chat.text)).toBe(true);
      const resumed = [chat.resumeStream(), other.resumeStream()];
      const isThere = ({ text, status }: BrowserChat) =>
        text === expected && status === 'streaming';
      for (const one of [chat, other]) await one.waitUntil(isThere);
      agent.allow(words.length - count);
      await Promise.all(resumed);
      expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
      expect([chat.text, chat.status]).toEqual([words.join(''), 'ready']);
      expect(other.messages).toEqual(chat.messages.slice(1));
      await proxy.close();
    }),
    { numRuns: runs(60) },
  );
});

test('a message is resumed in the middle of a tool call, with its reasoning and its steps', async () => {
  const { promise: isAllowed, resolve: allowResult } = Promise.withResolvers<void>();
  const look = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({}) },
    execute: async () => {
      await isAllowed;
      return 'It is there';
    },
  });
  const lookCall: Part = {
    ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
  };
  const parts: readonly (Part | string)[] = [
    ...[
      { kind: 'reasoning', form: 'summary', text: 'Where is it?' } as const,
      'Let me see.',
      lookCall,
    ],
  ];
  const { browse } = await serve((log) => {
    const provider = scriptedProvider([{ content: { parts } }, 'It is.']);
    return [{ type: 'loop', name: 'helper', agent: createAgent({ provider, log, tools: [look] }) }];
  });
  const chat = browse('talk');
  const hasCall = ({ lastMessage }: BrowserChat) =>
    lastMessage?.parts.some((part) => 'state' in part && part.state === 'input-available') ?? false;
  const sent = chat.sendMessage({ text: 'Is it there?' });
  await chat.waitUntil(hasCall);
  await chat.stop();
  await sent;
  const other = browse('talk');
  const resumed = [chat.resumeStream(), other.resumeStream()];
  const isThere = (one: BrowserChat) => hasCall(one) && one.status === 'streaming';
  for (const one of [chat, other]) await one.waitUntil(isThere);
  allowResult();
  await Promise.all(resumed);
  for (const { lastMessage } of [chat, other])
    expect(lastMessage?.parts.map((part) => ('text' in part ? part.text : part.type))).toEqual([
      ...['step-start', 'Where is it?', 'Let me see.', 'tool-look', 'step-start', 'It is.'],
    ]);
  expect(other.lastMessage).toEqual(chat.lastMessage);
  const late = browse('talk');
  await late.resumeStream();
  expect([late.status, late.messages]).toEqual(['ready', []]);
});

test('two clients that write in one chat both get an answer, one after the other', async () => {
  const agent = new PacedAgent();
  const { browse } = await serve(() => [
    { type: 'sync', name: 'helper', onMessage: () => agent.stream() },
  ]);
  const [one, two] = [browse('talk'), browse('talk')];
  const sent = [one.sendMessage({ text: 'First' })];
  await one.waitUntil(({ messages }) => messages.length === 2);
  sent.push(two.sendMessage({ text: 'Second' }));
  agent.allow(2 * words.length);
  await Promise.all(sent);
  expect([one.text, two.text]).toEqual([words.join(''), words.join('')]);
  expect(one.lastMessage?.id).not.toBe(two.lastMessage?.id);
});

test('a message to a sync agent that is repeated on a later server is answered once', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  let answerCount = 0;
  const onMessage = async () => agentText(`Answer ${++answerCount}`);
  const served = async () => {
    const server = createServer({
      tokens: 'none',
      log,
      rows,
      agents: [{ type: 'sync', name: 'helper', onMessage }],
    });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(() => server.close());
    return { server, chat: new BrowserChat({ url, agent: 'helper', id: 'talk' }) };
  };
  const first = await served();
  await first.chat.sendMessage({ text: 'Well?' });
  await first.server.close();
  const { chat } = await served();
  const [sentMessage] = first.chat.messages;
  await chat.sendMessage({ ...sentMessage, parts: sentMessage?.parts ?? [] });
  expect([answerCount, chat.text, chat.messages]).toEqual([1, 'Answer 1', first.chat.messages]);
});

test('a silent stream has heartbeats, which clients ignore', async () => {
  const clock = new TestClock();
  const agent = new PacedAgent();
  const onMessage = () => agent.stream();
  const agents = [{ type: 'sync', name: 'helper', onMessage }] as const;
  const server = createServer({ tokens: 'none', agents, clock });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Well?' }] };
  const response = await fetch(`${url}/agents/name/helper/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'talk', messages: [message] }),
  });
  const texts = response.body?.pipeThrough(new TextDecoderStream()) ?? expect.fail();
  let received = '';
  for await (const text of texts) {
    received += text;
    if (received.includes(': ping')) agent.allow(words.length);
    else await clock.advance(15_000);
  }
  expect(received).toContain('\n\n: ping\n\n');
  expect(received.trimEnd().endsWith('data: [DONE]')).toBe(true);
});
