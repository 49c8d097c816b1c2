import { type ScriptEntry, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { serveOpenAi } from '../../testing/openai-client.ts';

// The cases of the compliance tests of Open Responses, by their public names. The suite is not in the npm
// registry, so the schemas here state the fields that its specification requires.

const status = z.enum(['in_progress', 'completed', 'incomplete']);
const content = z.looseObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
});
const item = z.discriminatedUnion('type', [
  z.looseObject({
    ...{ type: z.literal('message'), id: z.string(), status, role: z.literal('assistant') },
    content: z.array(content),
  }),
  z.looseObject({
    ...{ type: z.literal('function_call'), id: z.string(), call_id: z.string(), status },
    ...{ name: z.string(), arguments: z.string() },
  }),
  z.looseObject({
    ...{ type: z.literal('reasoning'), id: z.string() },
    summary: z.array(z.looseObject({ type: z.literal('summary_text'), text: z.string() })),
  }),
]);
const text = z.string().nullable();
const count = z.int().nullable();
const resource = z.looseObject({
  ...{ id: z.string(), object: z.literal('response'), created_at: z.int(), completed_at: count },
  ...{ status: z.string(), model: z.string(), previous_response_id: text, instructions: text },
  incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
  output: z.array(item),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(
    z.looseObject({ type: z.literal('function'), name: z.string(), description: text }),
  ),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  ...{ truncation: z.enum(['auto', 'disabled']), parallel_tool_calls: z.boolean() },
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  ...{ top_p: z.number(), presence_penalty: z.number(), frequency_penalty: z.number() },
  ...{
    top_logprobs: z.int(),
    temperature: z.number(),
    store: z.boolean(),
    background: z.boolean(),
  },
  reasoning: z.looseObject({ effort: text, summary: text }).nullable(),
  usage: z
    .looseObject({
      ...{ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() },
      input_tokens_details: z.looseObject({ cached_tokens: z.int() }),
      output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }),
    })
    .nullable(),
  ...{ max_output_tokens: count, max_tool_calls: count, service_tier: z.string() },
  ...{ metadata: z.unknown(), safety_identifier: text, prompt_cache_key: text },
});

const at = { sequence_number: z.int(), output_index: z.int() };
const inItem = { ...at, item_id: z.string() };
const inContent = { ...inItem, content_index: z.int() };
const inSummary = { ...inItem, summary_index: z.int() };
const part = z.looseObject({ type: z.string() });
const lifecycle = ['created', 'queued', 'in_progress', 'completed', 'failed', 'incomplete'].map(
  (name) =>
    z.strictObject({
      type: z.literal(`response.${name}`),
      sequence_number: z.int(),
      response: resource,
    }),
);
const named = (type: string, fields: z.core.$ZodLooseShape) =>
  z.strictObject({ type: z.literal(`response.${type}`), ...fields });
const event = z.union([
  ...lifecycle,
  named('output_item.added', { ...at, item }),
  named('output_item.done', { ...at, item }),
  named('content_part.added', { ...inContent, part }),
  named('content_part.done', { ...inContent, part }),
  named('output_text.delta', { ...inContent, delta: z.string(), logprobs: z.array(z.unknown()) }),
  named('output_text.done', { ...inContent, text: z.string(), logprobs: z.array(z.unknown()) }),
  named('reasoning_summary_part.added', { ...inSummary, part }),
  named('reasoning_summary_part.done', { ...inSummary, part }),
  named('reasoning_summary_text.delta', { ...inSummary, delta: z.string() }),
  named('reasoning_summary_text.done', { ...inSummary, text: z.string() }),
  named('function_call_arguments.delta', { ...inItem, delta: z.string() }),
  named('function_call_arguments.done', { ...inItem, name: z.string(), arguments: z.string() }),
]);

const weather = {
  ...{ type: 'function', name: 'get_weather', description: 'Get the current weather' },
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
};
const user = (words: unknown) => ({ type: 'message', role: 'user', content: words });
const kinds: ScriptEntry = ({ items }) =>
  items.map(({ kind, parts }) => `${kind} ${parts.map((one) => one.kind).join('+')}`).join(', ');
const call = toolCall('get_weather', { location: 'Bath' });
const thinking = { kind: 'reasoning', form: 'summary', text: 'Let me see.' } as const;
const png = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = 'data:application/pdf;base64,JVBERi0xLjE=';
const system = { type: 'message', role: 'system', content: 'You are a pirate.' };
const told = { type: 'message', role: 'assistant', content: 'Hello Alice!' };

const cases: readonly (readonly [string, ScriptEntry, object, string])[] = [
  ['basic-response', kinds, { input: [user('Say hello')] }, 'user text'],
  ['system-prompt', kinds, { input: [system, user('Say hello')] }, 'system text, user text'],
  ['tool-calling', call, { input: [user('Weather?')], tools: [weather] }, ''],
  [
    'image-input',
    kinds,
    {
      input: [
        user([
          { type: 'input_text', text: 'What?' },
          { type: 'input_image', image_url: png },
        ]),
      ],
    },
    'user text+media',
  ],
  [
    'file-input',
    kinds,
    {
      input: [
        user([
          { type: 'input_text', text: 'Title?' },
          { type: 'input_file', filename: 'a.pdf', file_data: pdf },
        ]),
      ],
    },
    'user text+file',
  ],
  [
    'multi-turn',
    kinds,
    { input: [user('My name is Alice.'), told, user('My name?')] },
    'user text, assistant text, user text',
  ],
  ['reasoning', [thinking, 'Done'], { input: 'Think' }, 'Done'],
];

const textsOf = ({ output }: z.output<typeof resource>) =>
  output.flatMap((one) => (one.type === 'message' ? one.content.map((part) => part.text) : []));

async function post(url: string, body: object) {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify({ model: 'helper', ...body }),
  });
  expect(response.status).toBe(200);
  return response;
}

test.each(cases)('24.3: Open Responses: %s', async (_name, answer, body, expected) => {
  const { url } = await serveOpenAi([answer]);
  const reply = resource.parse(await (await post(url, body)).json());
  expect(reply.status).toBe('completed');
  expect(reply.output.length).toBeGreaterThan(0);
  expect(textsOf(reply).join('')).toBe(expected);
  if (_name === 'tool-calling') expect(reply.output[0]?.type).toBe('function_call');
});

test.each(cases)('24.3: Open Responses: %s, as a stream', async (_name, answer, body, expected) => {
  const { url } = await serveOpenAi([answer]);
  const lines = (await (await post(url, { ...body, stream: true })).text()).split('\n');
  const data = lines.flatMap((line) => (line.startsWith('data: ') ? line.slice(6) : []));
  expect(data.at(-1)).toBe('[DONE]');
  const events = data.slice(0, -1).map((one) => event.parse(JSON.parse(one)));
  const names = lines.flatMap((line) => (line.startsWith('event: ') ? line.slice(7) : []));
  expect(names).toEqual(events.map(({ type }) => type));
  expect([names[0], names[1], names.at(-1)]).toEqual([
    ...['response.created', 'response.in_progress', 'response.completed'],
  ]);
  const last = resource.parse((events.at(-1) as { readonly response: unknown }).response);
  expect(textsOf(last).join('')).toBe(expected);
  if (_name !== 'tool-calling') return;
  expect(names).toContain('response.function_call_arguments.delta');
  expect(names).toContain('response.function_call_arguments.done');
});

test('24.3: Open Responses: previous-response-id', async () => {
  const { url } = await serveOpenAi(['OK', kinds]);
  const first = resource.parse(await (await post(url, { input: 'Remember papaya' })).json());
  const body = { previous_response_id: first.id, input: 'Which word?' };
  const second = resource.parse(await (await post(url, body)).json());
  expect(textsOf(second)).toEqual(['user text, assistant text, user text']);
});

test('24.3: Open Responses: function-call-roundtrip', async () => {
  const { url } = await serveOpenAi([call, kinds]);
  const tools = [weather];
  const tool_choice = { type: 'function', name: 'get_weather' };
  const first = { input: 'Weather?', tools, tool_choice };
  const { output } = resource.parse(await (await post(url, first)).json());
  const made = output.find(({ type }) => type === 'function_call');
  const call_id = made?.['call_id'];
  const result = { type: 'function_call_output', call_id, output: '{"temperature":20}' };
  const input = [user('Weather?'), made, result];
  const second = resource.parse(await (await post(url, { input, tools })).json());
  expect(textsOf(second)).toEqual(['user text, assistant tool_call, tool tool_result']);
});
