import { createAgent, defineTool } from '@millrace/agent';
import { type Part, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { UpdateInput } from '../../contract/message.ts';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer } from '../../create-server.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import { BrowserChat } from '../../testing/ai-sdk-client.ts';
import { CuttingProxy } from '../../testing/cutting-proxy.ts';
import { agentText, textDelta } from '../../testing/servers/task-harness.ts';

const words = ['It ', 'is ', 'a ', 'long — 😀 ', 'story', ', ', 'and ', 'it ', 'ends', '.'];

/** Says the words one by one, each when it is let. */
class Prompter {
  #left = 0;
  #wake: () => void = () => {};

  /** So many words more. */
  let(count: number): void {
    this.#left += count;
    this.#wake();
  }

  async *speak(): AsyncGenerator<UpdateInput> {
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
  const server = createServer({ log, agents: agents(log), limits: { closeTimeoutMs: 200 } });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const browse = (id: string, port = new URL(url).port) =>
    new BrowserChat({ url: `http://127.0.0.1:${port}`, agent: 'helper', id });
  return { browse, port: Number(new URL(url).port) };
}

test('a message whose connection was cut at any byte is resumed, no word lost or doubled', async () => {
  const prompters = new Map<string, Prompter>();
  const { browse, port } = await serve(() => [
    {
      ...{ type: 'sync', name: 'helper' },
      onMessage: (_content, { task }) => prompters.get(task.name ?? '')?.speak() ?? expect.fail(),
    },
  ]);
  let chats = 0;
  const before = fc.integer({ min: 1, max: words.length - 1 });
  await fc.assert(
    fc.asyncProperty(before, fc.integer({ min: 1, max: 1200 }), async (count, cutAt) => {
      const id = `chat-${++chats}`;
      const prompter = new Prompter();
      prompters.set(id, prompter);
      // A new one, so that no connection is used again which was made for another chat.
      const proxy = await CuttingProxy.before(port);
      proxy.cutNext(cutAt);
      const [chat, other] = [browse(id, `${proxy.port}`), browse(id)];
      const sent = chat.sendMessage({ text: 'Tell me' });
      prompter.let(count);
      const said = words.slice(0, count).join('');
      await chat.waitUntil(({ text, status }) => text === said || status === 'error');
      if (chat.status !== 'error') await chat.stop();
      await sent;
      expect(said.startsWith(chat.text)).toBe(true);
      const resumed = [chat.resumeStream(), other.resumeStream()];
      const isThere = ({ text, status }: BrowserChat) => text === said && status === 'streaming';
      for (const one of [chat, other]) await one.waitUntil(isThere);
      prompter.let(words.length - count);
      await Promise.all(resumed);
      expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
      expect([chat.text, chat.status]).toEqual([words.join(''), 'ready']);
      expect(other.messages).toEqual(chat.messages.slice(1));
      await proxy.close();
    }),
    { numRuns: 60 },
  );
});

test('a message is resumed in the midst of a tool, with its reasoning and its steps', async () => {
  const { promise: isLet, resolve: let_ } = Promise.withResolvers<void>();
  const look = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({}) },
    execute: async () => {
      await isLet;
      return 'It is there';
    },
  });
  const looks: Part = {
    ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'look', arguments: '{}' },
  };
  const parts: readonly (Part | string)[] = [
    ...[
      { kind: 'reasoning', form: 'summary', text: 'Where is it?' } as const,
      'Let me see.',
      looks,
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
  let_();
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

test('two who write in one chat are both answered, one after the other', async () => {
  const prompter = new Prompter();
  const { browse } = await serve(() => [
    { type: 'sync', name: 'helper', onMessage: () => prompter.speak() },
  ]);
  const [one, two] = [browse('talk'), browse('talk')];
  const sent = [one.sendMessage({ text: 'First' })];
  await one.waitUntil(({ messages }) => messages.length === 2);
  sent.push(two.sendMessage({ text: 'Second' }));
  prompter.let(2 * words.length);
  await Promise.all(sent);
  expect([one.text, two.text]).toEqual([words.join(''), words.join('')]);
  expect(one.lastMessage?.id).not.toBe(two.lastMessage?.id);
});

test('a message to a sync agent that is sent again to a later server is answered once', async () => {
  const [log, rows] = [memoryLog(), memoryRows()];
  let asked = 0;
  const onMessage = async () => agentText(`Answer ${++asked}`);
  const served = async () => {
    const server = createServer({
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
  const [said] = first.chat.messages;
  await chat.sendMessage({ ...said, parts: said?.parts ?? [] });
  expect([asked, chat.text, chat.messages]).toEqual([1, 'Answer 1', first.chat.messages]);
});

test('a stream in which nothing is said for long has signs of life, which clients pass over', async () => {
  const clock = new TestClock();
  const prompter = new Prompter();
  const onMessage = () => prompter.speak();
  const agents = [{ type: 'sync', name: 'helper', onMessage }] as const;
  const server = createServer({ agents, clock });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(() => server.close());
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Well?' }] };
  const response = await fetch(`${url}/agents/name/helper/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'talk', messages: [message] }),
  });
  const texts = response.body?.pipeThrough(new TextDecoderStream()) ?? expect.fail();
  let told = '';
  for await (const text of texts) {
    told += text;
    if (told.includes(': ping')) prompter.let(words.length);
    else await clock.advance(15_000);
  }
  expect(told).toContain('\n\n: ping\n\n');
  expect(told.trimEnd().endsWith('data: [DONE]')).toBe(true);
});
