import { createAgent, defineTool } from '@millrace/agent';
import { toolCallId, toolCallPart } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { countingLog } from '../../../../log/src/testing/counting-log.ts';
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
