import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId, toolCallPart } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { countingLog } from '../../../../log/src/testing/counting-log.ts';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer } from '../../create-server.ts';

const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}) },
  execute: async () => 'It is there',
});

/** Counts what a chat reads that has this many messages: to regenerate, to resume, and to approve. */
async function costsOf(messages: number) {
  const { log, take } = countingLog(memoryLog());
  const asks = { content: { parts: [toolCallPart(toolCallId('c1'), 'look', {})] } };
  const answers = Array.from({ length: messages }, (_, index) => `Answer ${index}`);
  const provider = scriptedProvider([...answers, 'Again', asks, 'It is there.']);
  const agent = createAgent({
    ...{ log, provider, tools: [look], whileAsking: 'park', approve: () => 'ask' },
  });
  const agents = [{ type: 'loop', name: 'helper', agent }] as const;
  const server = createServer({ tokens: 'none', log, agents, limits: { closeTimeoutMs: 200 } });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const path = `${url}/agents/name/helper/chat`;
  const send = async (message: object, trigger = 'submit-message') => {
    const body = JSON.stringify({ id: 'talk', messages: [message], trigger });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(path, { method: 'POST', headers, body })).text();
  };
  const hello = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] };
  expect(await send(hello)).toContain('Answer 0');
  const { id } = (await (await fetch(`${url}/tasks/name/talk`)).json()) as { readonly id: string };
  for (let sent = 1; sent < messages - 1; sent++) await agent.run('Hello', { session: id }).result;
  // The server reads once what others wrote, and keeps its state.
  expect(await send({ ...hello, id: 'last' })).toContain('Answer');
  take();
  expect(await send(hello, 'regenerate-message')).toContain('Again');
  const regenerated = take();
  expect(await send({ ...hello, id: 'm2' })).toContain('tool-approval-request');
  take();
  expect(await (await fetch(`${path}/talk/stream`)).text()).toContain('tool-approval-request');
  const resumed = take();
  const approval = { id: 'c1', approved: true };
  const part = { type: 'tool-look', toolCallId: 'c1', state: 'approval-responded', approval };
  expect(await send({ id: 'm3', role: 'assistant', parts: [part] })).toContain('"there."');
  return { regenerated, resumed, approved: take() };
}

test('21.F law 18: regenerate, resume and approvals cost the same in a long chat', async () => {
  const [short, long] = [await costsOf(40), await costsOf(140)];
  for (const what of ['regenerated', 'resumed', 'approved'] as const) {
    expect(long[what].records, what).toBeLessThanOrEqual(1.25 * short[what].records + 100);
    expect(long[what].bytesRead, what).toBeLessThanOrEqual(1.25 * short[what].bytesRead + 20_000);
  }
});

const sunny = { type: 'text', author: 'agent', content: 'Sunny.' } as const;
const echo: Readonly<Record<'sync' | 'async', ServedAgent>> = {
  sync: {
    ...{ type: 'sync', name: 'helper' },
    async *onMessage() {
      yield { type: 'full', index: 0, content: sunny };
    },
  },
  async: {
    ...{ type: 'async', name: 'helper' },
    async onEvent(_event, { stream }) {
      const message = await stream.open(sunny);
      await message.close();
    },
  },
};

/** Serves an agent. Returns a function that sends a message with an id and returns the streamed answer. */
async function chatWith(log: Log, agent: ServedAgent) {
  const server = createServer({ tokens: 'none', log, agents: [agent] });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  return async (id: number | string) => {
    const message = { id: `m${id}`, role: 'user', parts: [{ type: 'text', text: `Hello ${id}` }] };
    const body = JSON.stringify({ id: 'talk', messages: [message], trigger: 'submit-message' });
    const headers = { 'content-type': 'application/json' };
    const path = `${url}/agents/name/helper/chat`;
    return (await fetch(path, { method: 'POST', headers, body })).text();
  };
}

/** Counts what a new message and its repetition read in a chat that has this many messages. */
async function costsOfKeys(kind: 'sync' | 'async', messages: number) {
  const { log, take } = countingLog(memoryLog());
  const send = await chatWith(log, echo[kind]);
  for (let id = 0; id < messages; id++) expect(await send(id)).toContain('Sunny.');
  take();
  expect(await send(messages)).toContain('Sunny.');
  const sent = take();
  expect(await send(messages)).toContain('Sunny.');
  return { sent, repeated: take() };
}

test.each(['sync', 'async'] as const)(
  '21.F law 18: a message to an agent of type %s and its repetition cost the same in a long chat',
  async (kind) => {
    const [short, long] = [await costsOfKeys(kind, 40), await costsOfKeys(kind, 100)];
    for (const what of ['sent', 'repeated'] as const) {
      expect(long[what].records, what).toBeLessThanOrEqual(1.25 * short[what].records + 50);
      expect(long[what].bytesRead, what).toBeLessThanOrEqual(1.25 * short[what].bytesRead + 10_000);
    }
  },
);

test('21.F: a repeated message to an async agent gets its own answer, although others were queued before it', async () => {
  const log = memoryLog();
  const [gate, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const send = await chatWith(log, {
    ...{ type: 'async', name: 'helper' },
    async onEvent({ content }, { stream }) {
      const text = content?.type === 'text' ? content.content : '';
      if (text === 'Hello A') {
        reached.resolve();
        await gate.promise;
      }
      await (await stream.open({ ...sunny, content: `Re: ${text}` })).close();
    },
  });
  // The chat is longer than the part of it that a search reads first.
  for (let id = 0; id < 40; id++) await send(id);
  const [{ session, through } = expect.fail()] = await log.list();
  expect(through).toBeGreaterThan(300);
  const answers = [send('A')];
  await reached.promise;
  for (const id of ['B', 'C']) {
    answers.push(send(id));
    await expect.poll(() => log.findCommand(session, `event:chat:m${id}`)).toBeDefined();
  }
  answers.push(send('C'));
  gate.resolve();
  const said = (text: string) => [...text.matchAll(/Re: Hello \w+/g)].map(([found]) => found);
  const texts = (await Promise.all(answers)).map(said);
  expect(texts).toEqual([['Re: Hello A'], ['Re: Hello B'], ['Re: Hello C'], ['Re: Hello C']]);
  for (const id of ['B', 'C', '7']) expect(said(await send(id))).toEqual([`Re: Hello ${id}`]);
});
