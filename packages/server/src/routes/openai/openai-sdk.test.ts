import { defineTool } from '@millrace/agent';
import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveOpenAi } from '../../testing/openai-client.ts';

// OpenAI's own client against `millrace serve`. Its stream helper rejects events in a wrong order.

const weather = {
  type: 'function',
  name: 'weather',
  description: 'Returns the weather',
  parameters: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] },
  strict: null,
} as const;
const textOf = ({ items }: Parameters<Extract<ScriptEntry, (...args: never) => unknown>>[0]) =>
  items
    .map(
      ({ kind, parts }) =>
        `${kind}:${parts.map((part) => ('text' in part ? part.text : part.kind)).join('+')}`,
    )
    .join('|');

test('24.3: a text is the same in one piece, as a stream and after a restart of the reader', async () => {
  const { client } = await serveOpenAi(['Hello there, friend.', 'Hello there, friend.']);
  const whole = await client.responses.create({ model: 'helper', input: 'Hi' });
  expect([whole.status, whole.output_text]).toEqual(['completed', 'Hello there, friend.']);
  expect(whole.usage?.total_tokens).toBeGreaterThan(0);
  const stream = client.responses.stream({ model: 'helper', input: 'Hi' });
  let text = '';
  stream.on('response.output_text.delta', ({ delta }) => {
    text += delta;
  });
  const last = await stream.finalResponse();
  expect([text, last.output_text]).toEqual([whole.output_text, whole.output_text]);
  const again = await client.responses.retrieve(last.id);
  expect(again).toEqual({ ...last, output_parsed: undefined, output: again.output });
  expect(again.output_text).toBe(last.output_text);
});

test('24.3: previous_response_id and conversation continue the session', async () => {
  const { client } = await serveOpenAi([textOf, textOf, textOf]);
  const first = await client.responses.create({ model: 'helper', input: 'One' });
  const second = await client.responses.create({
    ...{ model: 'helper', input: 'Two', previous_response_id: first.id },
  });
  expect(second.output_text).toBe(`user:One|assistant:${first.output_text}|user:Two`);
  expect(second.previous_response_id).toBe(first.id);
  const third = await client.responses.create({
    ...{ model: 'helper', input: 'Three', conversation: second.conversation?.id ?? '' },
  });
  expect(third.output_text).toContain('user:Two');
});

test('24.3: history, instructions and options of the caller reach the model', async () => {
  const seen: unknown[] = [];
  const script: ScriptEntry = (request) => {
    seen.push([request.temperature, request.maxOutputTokens, request.reasoning]);
    return textOf(request);
  };
  const { client } = await serveOpenAi([script]);
  const { output_text } = await client.responses.create({
    ...{ model: 'helper', instructions: 'Be kind', temperature: 0.5, max_output_tokens: 99 },
    reasoning: { effort: 'low' },
    input: [
      { role: 'system', content: 'You are a pirate' },
      { role: 'user', content: 'My name is Ann' },
      { role: 'assistant', content: 'Hello Ann' },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"town":"Bath"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'rain' },
      { role: 'user', content: [{ type: 'input_text', text: 'What is my name?' }] },
    ],
  });
  expect(output_text).toBe(
    'developer:Be kind|system:You are a pirate|user:My name is Ann|assistant:Hello Ann+tool_call|tool:rain|user:What is my name?',
  );
  expect(seen).toEqual([[0.5, 99, 'low']]);
});

test('24.3: the caller runs parallel tools, and the answer continues with the outputs', async () => {
  const calls = [toolCall('weather', { town: 'Bath' }), toolCall('weather', { town: 'York' })];
  const { client } = await serveOpenAi([calls, textOf]);
  const stream = client.responses.stream({ model: 'helper', input: 'Weather?', tools: [weather] });
  const asked = await stream.finalResponse();
  const made = asked.output.filter((item) => item.type === 'function_call');
  expect(made.map(({ name, arguments: given }) => [name, given])).toEqual([
    ['weather', '{"town":"Bath"}'],
    ['weather', '{"town":"York"}'],
  ]);
  const outputs = made.map(
    ({ call_id }, index) =>
      ({ type: 'function_call_output', call_id, output: `sun ${index}` }) as const,
  );
  const rest = { model: 'helper', previous_response_id: asked.id, tools: [weather] };
  const missing = client.responses.create({ ...rest, input: outputs.slice(0, 1) });
  await expect(missing).rejects.toThrow(/No tool output found for function call/);
  const answer = await client.responses.create({ ...rest, input: outputs });
  expect(answer.output_text).toContain('tool:sun 0+sun 1');
  expect((await client.responses.retrieve(answer.id)).output_text).toBe(answer.output_text);
  expect((await client.responses.retrieve(asked.id)).output).toHaveLength(2);
});

test('24.3: reasoning is an item of its own', async () => {
  const parts = [{ kind: 'reasoning', form: 'full', text: 'Let me think.' } as const, 'Done.'];
  const { client } = await serveOpenAi([parts]);
  const { output } = await client.responses
    .stream({ model: 'helper', input: 'Hi' })
    .finalResponse();
  expect(output).toMatchObject([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me think.' }] },
    { type: 'message', content: [{ text: 'Done.' }] },
  ]);
});

const remove = defineTool({
  ...{ name: 'remove', description: 'Removes a file', input: z.object({ path: z.string() }) },
  execute: async ({ path }) => `Removed ${path}`,
});

test.each([
  [true, 'Removed a.txt', null],
  [false, null, expect.stringContaining('Not now')],
])(
  '24.3: an approval is a request that the client answers with %s',
  async (approve, output, error) => {
    const call = toolCall('remove', { path: 'a.txt' });
    const { client } = await serveOpenAi([call, 'Done.'], {
      agent: { tools: [remove], approve: () => 'ask' },
    });
    const asked = await client.responses
      .stream({ model: 'helper', input: 'Remove it' })
      .finalResponse();
    expect(asked.output).toMatchObject([
      {
        ...{ type: 'mcp_approval_request', name: 'remove', server_label: 'helper' },
        arguments: '{"path":"a.txt"}',
      },
    ]);
    const [request] = asked.output;
    const early = client.responses.create({
      ...{ model: 'helper', input: 'And?', previous_response_id: asked.id },
    });
    await expect(early).rejects.toThrow(/No approval response found/);
    const answer = await client.responses
      .stream({
        ...{ model: 'helper', previous_response_id: asked.id },
        input: [
          {
            ...{ type: 'mcp_approval_response', approve, reason: 'Not now' },
            approval_request_id: request?.id ?? '',
          },
        ],
      })
      .finalResponse();
    expect(answer.output).toMatchObject([
      { type: 'mcp_call', name: 'remove', output, error },
      { type: 'message' },
    ]);
    expect(answer.output_text).toBe('Done.');
  },
);

/** A model that writes one word and then waits for its abort. */
const endless: ScriptEntry = { content: { parts: ['One two three four'] }, pauseMs: 10_000_000 };

test('24.3: cancel stops a response in the background', async () => {
  const { client } = await serveOpenAi([endless]);
  const started = await client.responses.create({ model: 'helper', input: 'Hi', background: true });
  expect(['queued', 'in_progress']).toContain(started.status);
  await expect
    .poll(async () => (await client.responses.retrieve(started.id)).status)
    .toBe('in_progress');
  const cancelled = await client.responses.cancel(started.id);
  expect(cancelled.status).toBe('cancelled');
  expect((await client.responses.retrieve(started.id)).status).toBe('cancelled');
  expect((await client.responses.cancel(started.id)).status).toBe('cancelled');
});

test('24.3: closing the connection stops a response, unless it runs in the background', async () => {
  const { client } = await serveOpenAi([endless, endless]);
  const follow = async (background: boolean) => {
    const stream = await client.responses.create({
      ...{ model: 'helper', input: 'Hi', stream: true, background },
    });
    for await (const event of stream)
      if (event.type === 'response.in_progress') return event.response.id;
    throw new Error('The stream has no response.in_progress');
  };
  const [stopped, running] = [await follow(false), await follow(true)];
  await expect
    .poll(async () => (await client.responses.retrieve(stopped)).status)
    .toBe('cancelled');
  expect((await client.responses.retrieve(running)).status).toBe('in_progress');
  await client.responses.cancel(running);
});

test('24.3: a failed request to the model is retried, and the answer has its text once', async () => {
  const cut: ScriptEntry = {
    content: { parts: ['A half answer'] },
    fault: { type: 'error', after: 2, error: 'overloaded' },
  };
  const { client } = await serveOpenAi([cut, 'The whole answer.'], {
    agent: { retry: { baseDelayMs: 0 } },
  });
  const last = await client.responses.stream({ model: 'helper', input: 'Hi' }).finalResponse();
  expect(last.output_text).toBe('The whole answer.');
});

test('24.3: an error of the provider is the error of the response', async () => {
  const fail: ScriptEntry = {
    content: { parts: ['x'] },
    fault: { type: 'error', after: 0, error: 'auth' },
  };
  const { client } = await serveOpenAi([fail, fail]);
  const failed = await client.responses.create({ model: 'helper', input: 'Hi' });
  expect([failed.status, failed.error?.message]).toEqual(['failed', expect.any(String)]);
  const chat = client.chat.completions.create({
    ...{ model: 'helper', messages: [{ role: 'user', content: 'Hi' }] },
  });
  await expect(chat).rejects.toThrow(OpenAI.APIError);
});

test('24.3: a stream can be cut after any event and resumed with starting_after', async () => {
  const tool = defineTool({
    ...{ name: 'now', description: 'Returns the time', input: z.object({}) },
    execute: async () => 'noon',
  });
  const script: ScriptEntry[] = [['Let me look. ', toolCall('now')], 'It is noon now.'];
  const { client } = await serveOpenAi(script, { agent: { tools: [tool] } });
  const events: OpenAI.Responses.ResponseStreamEvent[] = [];
  const stream = await client.responses.create({
    ...{ model: 'helper', input: 'Time?', stream: true, background: true },
  });
  for await (const event of stream) events.push(event);
  const id = events.flatMap((event) => ('response' in event ? event.response.id : []))[0] ?? '';
  const numbers = events.map((event) => event.sequence_number);
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  const deltas = (list: typeof events) =>
    list.flatMap((event) => (event.type === 'response.output_text.delta' ? event.delta : []));
  for (const [index, number] of numbers.entries()) {
    const rest: typeof events = [];
    const resumed = await client.responses.retrieve(id, { stream: true, starting_after: number });
    for await (const event of resumed) rest.push(event);
    expect(rest.every((event) => event.sequence_number > number)).toBe(true);
    const whole = [...events.slice(0, index + 1), ...rest];
    expect(deltas(whole).join('')).toBe('Let me look. It is noon now.');
  }
  expect(events.at(-1)).toMatchObject({
    response: {
      output: [{ type: 'message' }, { type: 'mcp_call', output: 'noon' }, { type: 'message' }],
    },
  });
});

test('24.3: an item can be sent again as a reference', async () => {
  const { client } = await serveOpenAi(['Hello.', textOf]);
  const { output } = await client.responses.create({ model: 'helper', input: 'Hi' });
  const id = output[0]?.id ?? '';
  const again = await client.responses.create({
    model: 'helper',
    input: [
      { role: 'user', content: 'Hi' },
      { type: 'item_reference', id },
      { role: 'user', content: 'And?' },
    ],
  });
  expect(again.output_text).toBe('user:Hi|assistant:Hello.|user:And?');
  const unknown = client.responses.create({
    model: 'helper',
    input: [{ type: 'item_reference', id: 'msg_other:1.1.x' }],
  });
  await expect(unknown).rejects.toMatchObject({ status: 404 });
});

test('attack 18.256: references do not multiply the input', async () => {
  const long = 'x'.repeat(3 * 2 ** 20);
  const { client } = await serveOpenAi([long, long, long, 'Hello.'], { pieces: 'whole' });
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    const { output } = await client.responses.create({ model: 'helper', input: 'Hi' });
    ids.push(output[0]?.id ?? '');
  }
  const refer = (...list: readonly string[]) =>
    client.responses.create({
      model: 'helper',
      input: [
        ...list.map((id) => ({ type: 'item_reference' as const, id })),
        { role: 'user', content: 'And?' },
      ],
    });
  const [first = ''] = ids;
  await expect(refer(first, first)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('twice'),
  });
  await expect(refer(...ids)).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('more than 8388608 characters'),
  });
  // A reference cannot use the text of a user, because only output items have ids.
  const other = first.replace(/^msg_(.*):.*$/, 'msg_$1:1.1.x');
  await expect(refer(other)).rejects.toMatchObject({ status: 404 });
  expect((await refer(...ids.slice(0, 2))).output_text).toBe('Hello.');
  // A text that is too long for the log is refused, and not skipped.
  const tooLong = client.responses.create({ model: 'helper', input: 'x'.repeat(9 * 2 ** 20) });
  await expect(tooLong).rejects.toMatchObject({ status: 413 });
});

test('24.3: chat completions answer in one piece and as a stream, with tools of the caller', async () => {
  const { client } = await serveOpenAi([
    'Hello there.',
    'Hello there.',
    [toolCall('weather', { town: 'Bath' }, 'c1')],
    [toolCall('weather', { town: 'Bath' }, 'c1')],
    textOf,
  ]);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hi' }];
  const whole = await client.chat.completions.create({ model: 'helper', messages });
  expect(whole.choices[0]).toMatchObject({
    message: { content: 'Hello there.' },
    finish_reason: 'stop',
  });
  const streamed = await client.chat.completions
    .stream({ model: 'helper', messages, stream_options: { include_usage: true } })
    .finalChatCompletion();
  expect(streamed.choices[0]?.message.content).toBe('Hello there.');
  expect(streamed.usage).toEqual(whole.usage);
  const { type, strict: _, ...definition } = weather;
  const tools = [{ type, function: definition }];
  const called = await client.chat.completions.create({ model: 'helper', messages, tools });
  const stream = client.chat.completions.stream({ model: 'helper', messages, tools });
  const alike = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls;
  const calls = called.choices[0]?.message.tool_calls ?? [];
  expect(called.choices[0]?.finish_reason).toBe('tool_calls');
  expect(alike).toMatchObject(calls);
  const answer = await client.chat.completions.create({
    ...{ model: 'helper', tools },
    messages: [
      ...messages,
      { role: 'assistant', tool_calls: calls },
      { role: 'tool', tool_call_id: calls[0]?.id ?? '', content: 'rain' },
    ],
  });
  expect(answer.choices[0]?.message.content).toBe('user:Hi|assistant:tool_call|tool:rain');
});

test('24.3: an approval ends a chat completion with an error that names the session', async () => {
  const { client } = await serveOpenAi([toolCall('remove', { path: 'a.txt' })], {
    agent: { tools: [remove], approve: () => 'ask' },
  });
  const chat = client.chat.completions.create({
    ...{ model: 'helper', messages: [{ role: 'user', content: 'Remove it' }] },
  });
  await expect(chat).rejects.toMatchObject({ code: 'approval_required', status: 400 });
});

test('24.3: structured output is JSON text', async () => {
  const { client } = await serveOpenAi(['{"town":"Bath"}']);
  const schema = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] };
  const { output_text } = await client.responses.create({
    ...{ model: 'helper', input: 'Where?' },
    text: { format: { type: 'json_schema', name: 'place', schema } },
  });
  expect(JSON.parse(output_text)).toEqual({ town: 'Bath' });
});

test('24.3: the models are the agents and their models', async () => {
  const { client } = await serveOpenAi([], { models: ['small', 'large'] });
  const ids = (await client.models.list()).data.map(({ id }) => id);
  expect(ids).toEqual(['helper', 'helper/small', 'helper/large']);
  expect(await client.models.retrieve('helper/small')).toMatchObject({ id: 'helper/small' });
  await expect(client.models.retrieve('other')).rejects.toMatchObject({
    ...{ status: 404, code: 'model_not_found' },
  });
});

test('24.3: store: false deletes the session after the answer', async () => {
  const { client } = await serveOpenAi(['Hi.', 'Hi.']);
  const { id } = await client.responses.create({ model: 'helper', input: 'Hi', store: false });
  await expect
    .poll(() =>
      client.responses.retrieve(id).then(
        () => 'there',
        ({ status }) => status,
      ),
    )
    .toBe(404);
  const kept = await client.responses.create({ model: 'helper', input: 'Hi' });
  const more = { model: 'helper', input: 'More', previous_response_id: kept.id, store: false };
  await expect(client.responses.create(more)).rejects.toMatchObject({ param: 'store' });
  expect((await client.responses.retrieve(kept.id)).status).toBe('completed');
});

test.each<[string, object, string]>([
  ['n', { n: 2 }, 'n'],
  ['logit_bias', { logit_bias: { 1: 1 } }, 'logit_bias'],
  ['a penalty', { presence_penalty: 1 }, 'presence_penalty'],
  ['a hosted tool', { tools: [{ type: 'web_search' }] }, 'tools[0]'],
  ['an unknown format', { response_format: { type: 'grammar' } }, 'format'],
])('24.3: a request with %s is refused in the format of OpenAI', async (_, more, param) => {
  const { client } = await serveOpenAi([]);
  const messages = [{ role: 'user', content: 'Hi' }];
  const sent = client.post('/chat/completions', { body: { model: 'helper', messages, ...more } });
  await expect(sent).rejects.toMatchObject({ status: 400, type: 'invalid_request_error', param });
});

test('24.3: an agent that does not accept options of callers refuses them by name', async () => {
  const { client } = await serveOpenAi(['Hi.'], { agent: { callerOptions: 'refuse' } });
  const plain = { model: 'helper', input: 'Hi', temperature: 1, metadata: { a: 'b' } };
  expect((await client.responses.create(plain)).output_text).toBe('Hi.');
  const refusals = [{ instructions: 'Be kind' }, { temperature: 0 }, { tools: [weather] }];
  for (const more of refusals)
    await expect(
      client.responses.create({ model: 'helper', input: 'Hi', ...more }),
    ).rejects.toMatchObject({ status: 400, param: Object.keys(more)[0] });
});
