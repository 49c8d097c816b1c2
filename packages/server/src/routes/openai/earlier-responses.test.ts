import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { testToken } from '../../testing/servers/test-server.ts';

// Forks from an earlier response, the input of a response, deletion, and JSON without a schema.

const weather = {
  ...({ type: 'function', name: 'weather', description: 'Returns the weather' } as const),
  ...{ parameters: { type: 'object', properties: { town: { type: 'string' } } }, strict: null },
};

/** Answers with the texts of the request. */
const echo: ScriptEntry = ({ items }) =>
  items
    .flatMap(({ parts }) => parts)
    .flatMap((part) => ('text' in part ? part.text.replaceAll(/\|.*/g, '…') : part.kind))
    .join('|');

const ask = (client: OpenAI, input: string, previous_response_id?: string, more: object = {}) =>
  client.responses.create({
    ...{ model: 'helper', input, ...more },
    ...(previous_response_id !== undefined && { previous_response_id }),
  });

test('24.3: previous_response_id of an earlier response forks the session', async () => {
  const { client, log, url } = await serveOpenAi([echo, echo, echo, echo, echo]);
  const first = await ask(client, 'One');
  const second = await ask(client, 'Two', first.id);
  const fork = await ask(client, 'Three', first.id);
  expect(second.conversation?.id).toBe(first.conversation?.id);
  expect(fork.conversation?.id).not.toBe(first.conversation?.id);
  expect([second.output_text, fork.output_text]).toEqual(['One|One|Two', 'One|One|Three']);
  expect(fork.previous_response_id).toBe(first.id);
  // Both sessions continue on their own.
  expect((await ask(client, 'Four', fork.id)).output_text).toBe('One|One|Three|One…|Four');
  expect((await ask(client, 'Five', second.id)).output_text).toBe('One|One|Two|One…|Five');
  const id = fork.conversation?.id ?? '';
  expect((await log.info(id))?.origin?.session).toBe(first.conversation?.id);
  const task = (await (await fetch(`${url}/tasks/${id}`)).json()) as { task_metadata: object };
  expect(task.task_metadata).toMatchObject({ branch: { of: first.conversation?.id } });
});

test('24.3: a repeated idempotency key of a fork gives the same response again', async () => {
  const { client, log } = await serveOpenAi(['1', '2', '3', '4']);
  const first = await ask(client, 'One');
  const send = (input: string, key: string) => {
    const body = { model: 'helper', input, previous_response_id: first.id };
    return client.responses.create(body, { headers: { 'idempotency-key': key } });
  };
  const second = await send('Two', 'k2');
  expect((await send('Two', 'k2')).id).toBe(second.id);
  const fork = await send('Three', 'k3');
  expect((await send('Three', 'k3')).id).toBe(fork.id);
  expect(await log.list()).toHaveLength(2);
});

test('24.3: a fork leaves out a message that the same run answers, and messages that waited', async () => {
  const gate = Promise.withResolvers<void>();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: async () => {
      await gate.promise;
      return 'waited';
    },
  });
  const { client } = await serveOpenAi([toolCall('wait'), 'One.', 'Two.', 'Three.', echo], {
    agent: { tools: [wait] },
  });
  const background = { background: true };
  const first = await ask(client, 'First', undefined, background);
  const conversation = first.conversation?.id ?? '';
  const later = { background: true, conversation };
  await expect.poll(async () => (await client.responses.retrieve(first.id)).output.length).toBe(1);
  await ask(client, 'Second', undefined, later);
  const third = await ask(client, 'Third', undefined, later);
  await expect(ask(client, 'Fork', first.id)).rejects.toMatchObject({
    ...{ status: 400, param: 'previous_response_id', code: 'response_not_complete' },
  });
  gate.resolve();
  await expect
    .poll(async () => (await client.responses.retrieve(third.id)).status)
    .toBe('completed');
  const fork = await ask(client, 'Fork', first.id);
  expect(fork.output_text).toBe('First|tool_call|waited|One.|Fork');
});

test('24.3: other outputs for the calls of an earlier response fork the session', async () => {
  const call = toolCall('weather', { town: 'Bath' });
  const { client } = await serveOpenAi([call, echo, echo, echo, echo]);
  const tools = { tools: [weather] };
  const asked = await ask(client, 'Weather?', undefined, tools);
  const [made] = asked.output;
  const call_id = made?.type === 'function_call' ? made.call_id : '';
  const give = (output: string) =>
    client.responses.create({
      ...{ model: 'helper', previous_response_id: asked.id, ...tools },
      input: [{ type: 'function_call_output', call_id, output }],
    });
  const first = await give('sun');
  const other = await give('rain');
  expect([first.output_text, other.output_text]).toEqual([
    ...['Weather?|tool_call|sun', 'Weather?|tool_call|rain'],
  ]);
  expect(first.conversation?.id).toBe(asked.conversation?.id);
  expect(other.conversation?.id).not.toBe(asked.conversation?.id);
  await ask(client, 'Thanks', first.id);
  expect((await give('snow')).output_text).toBe('Weather?|tool_call|snow');
});

test('attack 24.3: a second answer to an approval does not run the tool again in a fork', async () => {
  let runs = 0;
  const remove = defineTool({
    ...{ name: 'remove', description: 'Removes a file', input: z.object({}) },
    execute: async () => `Removed ${++runs}`,
  });
  const { client } = await serveOpenAi([toolCall('remove'), 'Done.', 'Bye.'], {
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const asked = await ask(client, 'Remove it');
  const approval_request_id = asked.output[0]?.id ?? '';
  const answer = () =>
    client.responses.create({
      ...{ model: 'helper', previous_response_id: asked.id },
      input: [{ type: 'mcp_approval_response', approve: true, approval_request_id }],
    });
  const done = await answer();
  await expect(answer()).rejects.toMatchObject({ status: 409 });
  await ask(client, 'Thanks', done.id);
  await expect(answer()).rejects.toMatchObject({ status: 409 });
  expect(runs).toBe(1);
});

test('24.3: a token for one task cannot fork it', async () => {
  const operator = testToken('operator');
  const served = await serveOpenAi(['1', '2', '3'], { server: { tokens: [operator] } });
  const all = served.clientWith(operator);
  const first = await ask(all, 'One');
  await ask(all, 'Two', first.id);
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${operator}` };
  const body = JSON.stringify({ task_id: first.conversation?.id });
  const reply = await fetch(`${served.url}/tokens`, { method: 'POST', headers, body });
  const { token } = (await reply.json()) as { token: string };
  const own = served.clientWith(token);
  await expect(ask(own, 'Three', first.id)).rejects.toMatchObject({ status: 403 });
  expect(await served.log.list()).toHaveLength(1);
});

test('24.3: input_items are the items before the response, in pages', async () => {
  const now = defineTool({
    ...{ name: 'now', description: 'Returns the time', input: z.object({}) },
    execute: async () => 'noon',
  });
  const script: ScriptEntry[] = ['Hello.', toolCall('now'), 'It is noon.'];
  const { client } = await serveOpenAi(script, {
    agent: { tools: [now], approve: () => 'ask' },
  });
  const first = await ask(client, 'Hi');
  const asked = await ask(client, 'Time?', first.id);
  const answer = await client.responses.create({
    ...{ model: 'helper', previous_response_id: asked.id },
    input: [
      {
        ...{ type: 'mcp_approval_response', approve: true },
        approval_request_id: asked.output[0]?.id ?? '',
      },
    ],
  });
  expect(answer.output_text).toBe('It is noon.');
  const list = async (id: string) => {
    const texts: string[] = [];
    for await (const item of client.responses.inputItems.list(id, { order: 'asc', limit: 1 }))
      texts.push(
        'content' in item && Array.isArray(item.content)
          ? item.content.map((part) => ('text' in part ? part.text : part.type)).join()
          : item.type,
      );
    return texts;
  };
  expect(await list(first.id)).toEqual(['Hi']);
  expect(await list(asked.id)).toEqual(['Hi', 'Hello.', 'Time?']);
  expect(await list(answer.id)).toEqual(['Hi', 'Hello.', 'Time?']);
  await expect(client.responses.inputItems.list('resp_none_1')).rejects.toMatchObject({
    status: 404,
  });
});

test('24.3: delete removes a session with one response, and refuses a session with more', async () => {
  const { client, log } = await serveOpenAi(['1', '2', '3']);
  const [alone, first] = [await ask(client, 'One'), await ask(client, 'One')];
  const second = await ask(client, 'Two', first.id);
  await client.responses.delete(alone.id);
  await expect(client.responses.retrieve(alone.id)).rejects.toMatchObject({ status: 404 });
  for (const { id } of [first, second])
    await expect(client.responses.delete(id)).rejects.toMatchObject({
      ...{ status: 409, code: 'response_in_use', param: 'response_id' },
    });
  expect((await client.responses.retrieve(second.id)).output_text).toBe('3');
  expect((await log.info(first.conversation?.id ?? ''))?.through).toBeGreaterThan(0);
});

test('24.3: json_object asks for a JSON object with any fields', async () => {
  const seen: unknown[] = [];
  const answer: ScriptEntry = ({ output }) => {
    seen.push(output);
    return '{"town":"Bath"}';
  };
  const { client } = await serveOpenAi([answer, answer]);
  const format = { type: 'json_object' } as const;
  const response = await ask(client, 'As JSON', undefined, { text: { format } });
  expect([response.output_text, response.text?.format]).toEqual(['{"town":"Bath"}', format]);
  const chat = await client.chat.completions.create({
    ...{ model: 'helper', response_format: format },
    messages: [{ role: 'user', content: 'As JSON' }],
  });
  expect(chat.choices[0]?.message.content).toBe('{"town":"Bath"}');
  const schema = { type: 'object', additionalProperties: true };
  expect(seen).toMatchObject([{ schema, strict: false }, { schema }]);
});
