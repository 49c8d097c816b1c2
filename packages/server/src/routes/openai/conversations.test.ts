import { createAgent, defineTool } from '@millrace/agent';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import OpenAI from 'openai';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../../create-server.ts';
import { agUiClient, runAgUi, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';

/** Starts a run in this process, without a command, as a terminal does. A server lists the session. */
async function runBeside() {
  const log = memoryLog();
  const gate = Promise.withResolvers<void>();
  const now = defineTool({
    ...{ name: 'now', description: 'Returns the time', input: z.object({}) },
    execute: async (_, { signal }) => {
      signal.addEventListener('abort', () => gate.resolve());
      await gate.promise;
      return 'noon';
    },
  });
  const provider = scriptedProvider([['I look. ', toolCall('now')], 'It is noon.', 'Bye.']);
  const agent = createAgent({ provider, log, tools: [now] });
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 } },
    agents: [{ type: 'loop', name: 'helper', agent, recovers: () => false }],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  const session = sessionId('beside');
  const run = agent.run('Time?', { session });
  await expect.poll(async () => (await log.info(session))?.through).toBeGreaterThan(8);
  await server.sessions.adopt(session, { agent: 'helper' });
  const client = new OpenAI({ apiKey: 'none', baseURL: `${url}/v1`, maxRetries: 0 });
  return { client, session, run, go: () => gate.resolve(), url };
}

const lastResponse = async (client: OpenAI, id: string) =>
  String((await client.conversations.retrieve(id)).metadata?.['last_response_id' as never]);

test('24: clients of OpenAI and AG-UI follow a run that no command started', async () => {
  const { client, session, run, go, url } = await runBeside();
  const id = await lastResponse(client, session);
  const stream = await client.responses.retrieve(id, { stream: true });
  const agent = agUiClient(url, { threadId: session });
  const followed = runAgUi(agent);
  const [texts, types]: [string[], string[]] = [[], []];
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') texts.push(event.delta);
    if (event.type === 'response.output_text.done') go();
    types.push(event.type);
  }
  await run.result;
  expect(texts.join('')).toBe('I look. It is noon.');
  expect(types.at(-1)).toBe('response.completed');
  expect((await followed).types.at(-1)).toBe('RUN_FINISHED');
  expect(shownOf(agent.messages)).toEqual([
    ...['user: Time?', 'assistant: I look.  now{}', 'tool: noon', 'assistant: It is noon.'],
  ]);
  const items: { readonly id?: string | undefined }[] = [];
  for await (const item of client.conversations.items.list(session, { order: 'asc', limit: 2 }))
    items.push(item);
  expect(items).toMatchObject([
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Time?' }] },
    { type: 'message', role: 'assistant', content: [{ text: 'I look. ' }] },
    { type: 'mcp_call', name: 'now', status: 'completed', output: 'noon' },
    { type: 'message', role: 'assistant', content: [{ text: 'It is noon.' }] },
  ]);
  const newest = await client.conversations.items.list(session, { limit: 1 });
  expect(newest.data).toEqual(items.slice(-1));
  // The items of the response have the same ids.
  const { output } = await client.responses.retrieve(id);
  expect(output.map((item) => item.id)).toEqual(items.slice(1).map((item) => item.id));
});

test('24: a client of OpenAI cancels a run that no command started, and continues its session', async () => {
  const { client, session, run } = await runBeside();
  const id = await lastResponse(client, session);
  const cancelled = await client.responses.cancel(id);
  expect(cancelled.status).toBe('cancelled');
  expect((await run.result).reason).toBe('aborted');
  const next = await client.responses.create({ input: 'Go on', previous_response_id: id });
  expect(next.output_text).toBe('It is noon.');
  expect(await lastResponse(client, session)).toBe(next.id);
  // The session continued since then, so the next answer is in a fork.
  const late = await client.responses.create({ input: 'Again', previous_response_id: id });
  expect([late.output_text, late.conversation?.id === session]).toEqual(['Bye.', false]);
});

test('24: a conversation that does not exist, and an unknown cursor, are refused', async () => {
  const { client, session, go } = await runBeside();
  go();
  await expect(client.conversations.retrieve('missing')).rejects.toMatchObject({ status: 404 });
  await expect(client.conversations.items.list('missing')).rejects.toMatchObject({ status: 404 });
  const unknown = client.conversations.items.list(session, { after: 'msg_none' });
  await expect(unknown).rejects.toMatchObject({ status: 400, param: 'after' });
});
