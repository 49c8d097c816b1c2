import { type Item, type ItemKind, itemId, type JsonObject, type Part } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion, Provider } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

// Tools that a provider runs, and calls in formats of their own. Each test has its fault's number.

let count = 0;
const item = (kind: ItemKind, ...parts: readonly Part[]): Item => ({
  id: itemId(`item${++count}`),
  kind,
  parts,
});
const user = item('user', { kind: 'text', text: 'Hi' });

interface Options {
  readonly fetch: typeof fetch;
  readonly apiKey: string;
}

async function exchange(
  create: (options: Options) => Provider,
  answer: string | readonly object[],
  request: Partial<ModelRequest> = {},
): Promise<{ readonly body: JsonObject; readonly completion: Completion }> {
  const isWhole = typeof answer === 'string';
  const type = isWhole ? 'application/json' : 'text/event-stream';
  const bytes = isWhole ? answer : sseOf(answer);
  const { fetch, requests } = fetchOf([bytes], { headers: { 'content-type': type } });
  const completion = await create({ fetch, apiKey: 'key' }).complete({ items: [user], ...request });
  const [sent] = requests;
  if (sent === undefined) throw completion.error ?? new Error('Nothing was sent');
  return { body: sent.body as JsonObject, completion };
}

const answered = ({ item: { parts } }: Completion) =>
  item(
    'tool',
    ...parts.flatMap((part): Part[] =>
      part.kind === 'tool_call'
        ? [
            {
              kind: 'tool_result',
              toolCallId: part.toolCallId,
              name: part.name,
              text: 'six',
              isError: false,
            },
          ]
        : [],
    ),
  );

describe('Chat Completions', () => {
  const chat = (options: Options) => openaiChat({ ...options, model: 'gpt-5' });
  const custom = { name: 'sql', input: 'SELECT "a"\n😀' };
  const call = { id: 'call_1', type: 'custom', custom };

  const whole = JSON.stringify({
    choices: [
      { index: 0, message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' },
    ],
  });
  const pieces = ['SELECT "a', '"\n\ud83d', '\ude00'];
  const streamed = [
    { index: 0, ...call, custom: { name: 'sql', input: '' } },
    ...pieces.map((input) => ({ index: 0, custom: { input } })),
  ].map((entry) => ({ choices: [{ index: 0, delta: { tool_calls: [entry] } }] }));
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };

  test.each([
    ['in whole JSON', whole],
    ['in pieces', [...streamed, end]],
  ])('19.10: a custom tool call %s is a call, and goes back as one', async (_name, answer) => {
    const { completion } = await exchange(chat, answer);
    expect(completion.error).toBeUndefined();
    expect(completion.stop.reason).toBe('tool_use');
    const { parts } = completion.item;
    expect(parts).toMatchObject([
      { kind: 'tool_call', toolCallId: 'call_1', name: 'sql', input: { input: custom.input } },
    ]);
    const items = [user, completion.item, answered(completion)];
    const { body } = await exchange(chat, whole, { items });
    expect(body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'six' },
    ]);
  });

  test('19.10: a custom tool call that was cut off is partial', async () => {
    const cut = { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] };
    const { completion } = await exchange(chat, [...streamed.slice(0, 2), cut]);
    expect(completion.item.parts).toMatchObject([{ kind: 'tool_call', partial: true }]);
  });

  test('19.13: audio of the model goes back by its id, until it expires', async () => {
    const clock = new VirtualClock();
    const expires_at = Math.floor(clock.now() / 1000) + 60;
    const create = (options: Options) => openaiChat({ ...options, model: 'gpt-audio', clock });
    const audio = { id: 'audio_1', data: 'AQID', transcript: 'Six.', expires_at };
    const { completion } = await exchange(create, [
      { choices: [{ index: 0, delta: { audio: { id: 'audio_1', transcript: 'Six.' } } }] },
      { choices: [{ index: 0, delta: { audio: { data: 'AQID' } } }] },
      { choices: [{ index: 0, delta: { audio: { expires_at } } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ]);
    const whole = { index: 0, message: { content: null, audio }, finish_reason: 'stop' };
    const json = await exchange(create, JSON.stringify({ choices: [whole] }));
    for (const answer of [completion.item, json.completion.item]) {
      const { body } = await exchange(create, [], { items: [user, answer, user] });
      expect(body['messages']).toEqual([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', audio: { id: 'audio_1' } },
        { role: 'user', content: 'Hi' },
      ]);
    }
    clock.advance(61_000);
    const late = await exchange(create, [], { items: [user, completion.item, user] });
    expect(late.body['messages']).toMatchObject([
      {},
      { role: 'assistant', content: 'Six.[audio/pcm16]' },
      {},
    ]);
  });
});

test('19.13: Anthropic does not get back the reason why its own tool was aborted', async () => {
  const create = (options: Options) => anthropic({ ...options, model: 'claude-sonnet-4-5' });
  const block = (index: number, content_block: object) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ];
  const call = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution' };
  const result = { type: 'bash_code_execution_result', stdout: '', stderr: '', return_code: 1 };
  const { completion } = await exchange(create, [
    { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage: {} } },
    ...block(0, { ...call, input: { command: 'echo "abort_reason"' }, abort_reason: null }),
    ...block(1, {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { ...result, abort_reason: 'timeout', content: [] },
    }),
    ...block(2, { type: 'tool_use', id: 'toolu_1', name: 'bash', input: {}, abort_reason: null }),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]);
  expect(completion.error).toBeUndefined();
  const { body } = await exchange(create, [], {
    items: [user, completion.item, answered(completion)],
  });
  const [, answer] = body['messages'] as readonly JsonObject[];
  expect(answer?.['content']).toEqual([
    { ...call, input: { command: 'echo "abort_reason"' } },
    {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { ...result, content: [] },
    },
    { type: 'tool_use', id: 'toolu_1', name: 'bash', input: {} },
  ]);
});

describe('19.3: calls that xAI runs itself', () => {
  const xai = (options: Options) =>
    openaiResponses({ ...options, preset: 'xai', model: 'grok-4', extraTools: [xSearch] });
  const xSearch = { type: 'x_search' } as const;
  const search = {
    type: 'custom_tool_call',
    id: 'ctc_1',
    call_id: 'xs_call_1',
    name: 'x_keyword_search',
    input: '{"query":"tide"}',
    status: 'completed',
  };
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'High at six.', annotations: [] }],
  };
  const events = [
    { type: 'response.created', response: { id: 'resp_1', model: 'grok-4' } },
    { type: 'response.output_item.added', output_index: 0, item: { ...search, input: '' } },
    {
      type: 'response.custom_tool_call_input.delta',
      output_index: 0,
      item_id: 'ctc_1',
      delta: search.input,
    },
    {
      type: 'response.custom_tool_call_input.done',
      output_index: 0,
      item_id: 'ctc_1',
      input: search.input,
    },
    { type: 'response.output_item.done', output_index: 0, item: search },
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    {
      type: 'response.output_text.delta',
      output_index: 1,
      item_id: 'msg_1',
      delta: 'High at six.',
    },
    { type: 'response.output_item.done', output_index: 1, item: message },
    {
      type: 'response.completed',
      response: { id: 'resp_1', status: 'completed', output: [search, message] },
    },
  ];

  test.each([
    ['on its own server', xai],
    [
      'behind another server',
      (options: Options) =>
        openaiResponses({ ...options, baseUrl: 'https://example.com/v1', model: 'grok-4' }),
    ],
  ])('are no calls of the client, %s', async (_name, create) => {
    const whole = JSON.stringify({ id: 'resp_1', status: 'completed', output: [search, message] });
    for (const answer of [events, whole]) {
      const { completion } = await exchange(create, answer);
      expect(completion.stop.reason).toBe('stop');
      expect(completion.text).toBe('High at six.');
      expect(completion.item.parts.map(({ kind }) => kind).sort()).toEqual(['custom', 'text']);
      expect(completion.item.parts).toContainEqual(
        expect.objectContaining({ kind: 'custom', name: 'custom_tool_call', value: search }),
      );
      const { body } = await exchange(create, events, { items: [user, completion.item, user] });
      expect(body['input']).toMatchObject([
        { role: 'user' },
        { type: 'message', role: 'assistant' },
        { role: 'user' },
      ]);
    }
  });

  test('a custom tool of the client is still called', async () => {
    const sql = { type: 'custom', name: 'sql' } as const;
    const create = (options: Options) =>
      openaiResponses({ ...options, model: 'gpt-5', extraTools: [sql] });
    const own = { ...search, name: 'sql' };
    const { completion } = await exchange(create, [
      { type: 'response.output_item.done', output_index: 0, item: own },
      { type: 'response.output_item.done', output_index: 1, item: message },
      { type: 'response.completed', response: { status: 'completed', output: [own, message] } },
    ]);
    expect(completion.stop.reason).toBe('tool_use');
  });
});
