import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { BrowserChat } from '../../testing/ai-sdk-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// The rights of tokens, limits, and several clients of one session.

const operator = testToken('operator');

async function serveGuarded(script: readonly ScriptEntry[]) {
  const served = await serveOpenAi(script, { server: { tokens: [operator] } });
  const issue = async (body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${operator}` };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    return ((await (await fetch(`${served.url}/tokens`, sent)).json()) as { token: string }).token;
  };
  return { ...served, issue };
}

test('24.3: a token gives its rights in every endpoint', async () => {
  const { clientWith, issue } = await serveGuarded(['One', 'Two', 'Three']);
  const all = clientWith(operator);
  await expect(clientWith('wrong').models.list()).rejects.toMatchObject({
    ...{ status: 401, code: 'invalid_api_key', type: 'authentication_error' },
  });
  const first = await all.responses.create({ model: 'helper', input: 'Hi' });
  const other = await all.responses.create({ model: 'helper', input: 'Hi' });
  const reader = clientWith(await issue({ read_only: true }));
  expect((await reader.responses.retrieve(first.id)).output_text).toBe('One');
  await expect(reader.responses.create({ model: 'helper', input: 'Hi' })).rejects.toMatchObject({
    ...{ status: 403, type: 'permission_error' },
  });
  const task = clientWith(await issue({ task_id: first.conversation?.id }));
  await expect(task.responses.retrieve(other.id)).rejects.toMatchObject({ status: 404 });
  await expect(task.responses.create({ model: 'helper', input: 'Hi' })).rejects.toMatchObject({
    status: 403,
  });
  const next = { model: 'helper', input: 'More', previous_response_id: first.id };
  expect((await task.responses.create(next)).output_text).toBe('Three');
  const stolen = { ...next, previous_response_id: other.id };
  await expect(task.responses.create(stolen)).rejects.toMatchObject({
    ...{ status: 404, code: 'previous_response_not_found' },
  });
});

test('24.3: a body that is too large or no JSON is refused in the format of OpenAI', async () => {
  const { url } = await serveOpenAi([], { server: { limits: { maxFileBytes: 1000 } } });
  const send = async (body: string) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body });
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    return [response.status, error.type];
  };
  expect(await send('{')).toEqual([400, 'invalid_request_error']);
  const input = 'x'.repeat(2000);
  expect(await send(JSON.stringify({ model: 'helper', input }))).toEqual([
    ...[413, 'invalid_request_error'],
  ]);
  const unknown = await fetch(`${url}/v1/embeddings`);
  expect([unknown.status, Object.keys((await unknown.json()) as object)]).toEqual([404, ['error']]);
});

test('24.3: an idempotency key gives the same response again', async () => {
  const { client } = await serveOpenAi(['One', 'Two']);
  const send = () =>
    client.responses.create(
      { model: 'helper', input: 'Hi' },
      { headers: { 'idempotency-key': 'k1' } },
    );
  const [first, again] = [await send(), await send()];
  expect([again.id, again.output_text]).toEqual([first.id, 'One']);
});

test('24.1: useChat, OpenAI and commands share one session, and each of them sees the same answer', async () => {
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes a file', input: z.object({ path: z.string() }) },
    execute: async ({ path }) => `Removed ${path}`,
  });
  const endless: ScriptEntry = { content: { parts: ['One two three'] }, pauseMs: 10_000_000 };
  const script = ['Hello.', toolCall('remove', { path: 'a' }), 'Done.', endless];
  const { client, url } = await serveOpenAi(script, {
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const chat = new BrowserChat({ url, agent: 'helper', id: 'talk' });
  await chat.sendMessage({ text: 'Hi' });
  const task = (await (await fetch(`${url}/tasks/name/talk`)).json()) as { id: string };
  const conversation = task.id;
  // OpenAI's client asks, and another client answers.
  const asked = await client.responses.create({
    model: 'helper',
    conversation,
    input: 'Remove it',
  });
  const [question] = asked.output;
  expect(question?.type).toBe('mcp_approval_request');
  const command = async (body: object) => {
    const headers = { 'content-type': 'application/json' };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    expect((await fetch(`${url}/tasks/${task.id}/commands`, sent)).status).toBeLessThan(300);
  };
  const tool_call_id = (question?.id ?? '').replace(/^mcpr_/, '');
  await command({ type: 'approve', tool_call_id });
  const messages = async () => {
    const reply = await fetch(`${url}/agents/name/helper/chat/talk`);
    return JSON.stringify(await reply.json());
  };
  await expect.poll(messages).toContain('Done.');
  // A command of another client stops the response.
  const running = await client.responses.create({
    ...{ model: 'helper', conversation, input: 'Count', background: true },
  });
  const statusOf = async () => (await client.responses.retrieve(running.id)).status;
  await expect.poll(statusOf).toBe('in_progress');
  await command({ type: 'abort' });
  await expect.poll(statusOf).toBe('cancelled');
});
