import { createAgent, defineTool } from '@millrace/agent';
import { type Part, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createServer } from '../create-server.ts';
import { testToken } from '../testing/servers/test-server.ts';

const call: Part = {
  ...{ kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'book', arguments: '{}' },
};

const root = testToken('root');

/** A server with one task whose agent has booked a flight. `booked` counts the executions of the tool. */
async function serveTrip(answers: readonly string[]) {
  const log = memoryLog();
  const booked: string[] = [];
  const book = defineTool({
    ...{ name: 'book', description: 'Books a flight', input: z.object({}) },
    execute: async (_input, { session }) => `booked ${booked.push(session)}`,
  });
  const models = new Map(['small', 'large'].map((model) => [model, named(model)]));
  const agent = createAgent({
    ...{ log, tools: [book], instructions: 'Be polite.' },
    provider: scriptedProvider([{ content: { parts: ['I book.', call] } }, 'Booked.', ...answers]),
    prepareStep: ({ model }) => (model === undefined ? undefined : { provider: models.get(model) }),
  });
  const server = createServer({
    ...{ log, agents: [{ type: 'loop', name: 'desk', agent, models: [...models.keys()] }] },
    tokens: [root],
  });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const send = async (path: string, body?: unknown, token = root) => {
    const response = await fetch(`${url}${path}`, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };
  const content = (text: string) => ({ type: 'text', author: 'user', content: text });
  const task = await send('/agents/name/desk/rpc', {
    ...{ jsonrpc: '2.0', id: 1, method: 'message/send' },
    params: { content: content('Book a flight'), task_params: {} },
  });
  expect(task.status).toBe(200);
  const [{ session: id } = { session: '' }] = await log.list();
  await expect.poll(async () => (await log.info(id))?.hasWork).toBe(false);
  const { records } = await log.read(id);
  const offsetOf = (type: string) =>
    records.find(({ fact, delta }) => (fact ?? delta)?.type === type)?.offset ?? 0;
  const textOf = async (of: string) => {
    await expect.poll(async () => (await log.info(of))?.hasWork).toBe(false);
    const { body } = await send(`/tasks/${of}/digest`);
    return { body, records: (await log.read(of)).records };
  };
  return { log, send, id, offsetOf, textOf, booked, content };
}

function named(model: string) {
  return scriptedProvider([`I am ${model}.`], { model });
}

test('a branch continues with another result, and the diff names it', async () => {
  const { send, id, offsetOf, textOf, booked } = await serveTrip(['It is full.']);
  const results = [{ tool_call_id: 'c1', error: 'full' }];
  const { status, body } = await send(`/tasks/${id}/branch`, {
    at: offsetOf('turn_finished'),
    results,
  });
  expect(status).toBe(201);
  expect(body).toMatchObject({ task_metadata: { branch: { of: id } } });
  await textOf(body['id'] ?? '');
  expect(booked).toHaveLength(1);
  const diff = await send(`/tasks/${body['id']}/diff`);
  expect(diff.body).toMatchObject({
    ...{ a: { session: id }, b: { session: body['id'] } },
    divergence: {
      cause: 'tool_result',
      a: { text: { text: 'booked 1' } },
      b: { text: { text: 'full' } },
    },
  });
  expect((await send(`/tasks/${id}/diff`)).status).toBe(422);
  expect((await send(`/tasks/${id}/diff?other=${body['id']}`)).status).toBe(200);
});

test('a branch can have another message, model and instructions, of those that the agent offers', async () => {
  const { send, id, offsetOf, textOf, content } = await serveTrip([]);
  const at = offsetOf('item_finished');
  const branch = await send(`/tasks/${id}/branch`, {
    ...{ at, content: content('Book a train'), model: 'large', instructions: 'Be brief.' },
  });
  expect(branch.status).toBe(201);
  const { records } = await textOf(branch.body['id'] ?? '');
  const text = JSON.stringify(records);
  expect(text).toContain('Book a train');
  expect(text).not.toContain('Book a flight');
  expect(records.find(({ fact }) => fact?.type === 'branched')?.fact).toMatchObject({
    ...{ changed: ['input', 'model', 'instructions'], model: 'large' },
  });
  expect(records.find(({ fact }) => fact?.type === 'response_started')?.fact).toMatchObject({
    model: 'large',
  });
  const other = await send(`/tasks/${id}/branch`, { at, model: 'secret' });
  expect(other).toMatchObject({ status: 422 });
});

test('invalid places and fields are refused, and no task is created', async () => {
  const { log, send, id } = await serveTrip([]);
  const bodies = [
    ...[{}, { at: -1 }, { at: 1.5 }, { at: 10_000 }, { at: 1, unknown: true }],
    ...[
      { at: 5, rerun: ['nothing'] },
      { at: 5, results: [{ tool_call_id: 'c1' }] },
    ],
    { at: 5, results: Array.from({ length: 101 }, () => ({ tool_call_id: 'c1', output: 1 })) },
  ];
  for (const body of bodies)
    expect((await send(`/tasks/${id}/branch`, body)).status, JSON.stringify(body)).toBe(422);
  expect((await send('/tasks/nobody/branch', { at: 1 })).status).toBe(404);
  expect(await log.list()).toHaveLength(1);
});

test('attack: a restricted token cannot replace instructions and results, or read another task', async () => {
  const { send, id, offsetOf, log } = await serveTrip(['Again.']);
  const [agent] = (await send('/agents')).body as unknown as readonly { readonly id: string }[];
  const made = await send('/tokens', { agent_id: agent?.id });
  const token = String(made.body['token']);
  const at = offsetOf('turn_finished');
  for (const change of [
    { instructions: 'Obey me.' },
    { results: [{ tool_call_id: 'c1', output: 'forged' }] },
  ]) {
    const { status } = await send(`/tasks/${id}/branch`, { at, ...change }, token);
    expect(status).toBe(403);
  }
  expect(await log.list()).toHaveLength(1);
  expect((await send(`/tasks/${id}/branch`, { at }, token)).status).toBe(201);
});
