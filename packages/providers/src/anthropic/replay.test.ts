import {
  countingIds,
  type Item,
  itemId,
  type JsonObject,
  type Part,
  toolCallId,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { fetchOf, type SentRequest, sseOf } from '../testing/fetch-of.ts';
import type { AnthropicOptions } from './options.ts';
import { anthropic } from './provider.ts';

const model = 'claude-sonnet-4-5';

/** A message of complete blocks, as a stream. */
const stream = (content: readonly JsonObject[], stop_reason: string, fields: JsonObject = {}) =>
  sseOf([
    { type: 'message_start', message: { id: 'msg_1', content, usage: {} } },
    { type: 'message_delta', delta: { stop_reason, ...fields } },
    { type: 'message_stop' },
  ]);

const userItem = (id: string, text: string): Item => ({
  id: itemId(id),
  kind: 'user',
  parts: [{ kind: 'text', text }],
});

async function answerOf(body: string): Promise<Item> {
  const provider = anthropic({ model, apiKey: 'k', fetch: fetchOf([body]).fetch });
  const { item, error } = await provider.complete({ items: [] }, { ids: countingIds() });
  if (error !== undefined) throw error;
  return item;
}

async function send(
  items: readonly Item[],
  options: Partial<AnthropicOptions> = {},
): Promise<SentRequest> {
  const { fetch, requests } = fetchOf([stream([], 'end_turn')]);
  await anthropic({ model, apiKey: 'k', fetch, ...options }).complete({ items });
  const [sent] = requests;
  if (sent === undefined) throw new TypeError('Cannot find a request that was sent');
  return sent;
}

/** The parts of an answer that the next request contains. */
async function sentBack(
  content: readonly JsonObject[],
  stop: string,
  after: readonly Item[] = [],
  options: Partial<AnthropicOptions> = {},
): Promise<unknown> {
  const answer = await answerOf(stream(content, stop));
  const { body } = await send([userItem('u1', 'Hi'), answer, ...after], options);
  const messages = body['messages'] as readonly { role: string; content: unknown }[];
  return messages.find(({ role }) => role === 'assistant')?.content;
}

const thinking = { type: 'thinking', thinking: ' hm\n\n \u{1f30a}', signature: 'x/+=' };
const redacted = { type: 'redacted_thinking', data: 'opaque==' };
const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } };
const found = {
  type: 'web_search_tool_result',
  tool_use_id: 's1',
  content: [{ type: 'web_search_result', url: 'https://a.example', encrypted_content: 'e==' }],
};
const cited = {
  type: 'text',
  text: 'At six.',
  citations: [
    { type: 'web_search_result_location', url: 'https://a.example', encrypted_index: 'i' },
  ],
};
const use = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'tide',
  input: { port: 'Brest' },
  caller: { type: 'direct' },
};

describe('what goes back', () => {
  test('is each block as it was, in its order, thinking before the call', async () => {
    const content = [thinking, redacted, search, found, cited, { ...thinking, thinking: '' }, use];
    expect(await sentBack(content, 'tool_use')).toEqual(content);
  });

  test('trap: pause_turn goes back unchanged, with a hosted call that waits', async () => {
    const content = [{ type: 'text', text: 'Searching. ' }, search];
    expect(await sentBack(content, 'pause_turn')).toEqual(content);
  });

  test('an answer that goes on after a pause is one with it', async () => {
    const first = await answerOf(stream([search], 'pause_turn'));
    const second = {
      ...(await answerOf(stream([found, cited], 'end_turn'))),
      id: itemId('second'),
    };
    const { body } = await send([userItem('u1', 'Hi'), first, second, userItem('u2', 'Go')]);
    expect(body['messages']).toMatchObject([{}, { content: [search, found, cited] }, {}]);
  });

  test('is not a hosted call without its result after the user sent a message', async () => {
    const after = [userItem('u2', 'Never mind')];
    expect(await sentBack([cited, search], 'end_turn', after)).toEqual([cited]);
    expect(await sentBack([cited, found], 'end_turn')).toEqual([cited]);
    const later: Item = { ...userItem('a2', 'Six.'), kind: 'assistant' };
    expect(await sentBack([cited, search], 'end_turn', [...after, later])).toEqual([cited]);
  });

  test('a hosted call waits also beside a client call that is answered', async () => {
    const after: Item = {
      id: itemId('t1'),
      kind: 'tool',
      parts: [
        {
          kind: 'tool_result',
          toolCallId: toolCallId('toolu_1'),
          name: 'tide',
          text: 'six',
          isError: false,
        },
      ],
    };
    expect(await sentBack([search, use], 'tool_use', [after])).toEqual([search, use]);
  });

  test('is not unsigned thinking, nor thinking after a call', async () => {
    const unsigned = { type: 'thinking', thinking: 'a' };
    expect(await sentBack([unsigned, cited], 'end_turn')).toEqual([cited]);
    expect(await sentBack([use, thinking], 'tool_use')).toEqual([use]);
  });

  test('is not thinking at the end of the last turn, nor a turn of only thinking', async () => {
    const next = [userItem('u2', 'Go')];
    expect(await sentBack([thinking, cited, thinking, redacted], 'max_tokens')).toEqual([
      thinking,
      cited,
    ]);
    expect(await sentBack([thinking, redacted], 'max_tokens')).toBeUndefined();
    expect(await sentBack([thinking, cited, thinking], 'end_turn', next)).toEqual([
      thinking,
      cited,
      thinking,
    ]);
    const spaced = { type: 'text', text: 'At six. \n' };
    expect(await sentBack([spaced, thinking], 'max_tokens')).toEqual([
      { type: 'text', text: 'At six.' },
    ]);
  });

  test('is not the thinking of another model, nor its private blocks', async () => {
    const content = [thinking, redacted, search, found, cited, use];
    const { caller: _caller, ...plain } = use;
    expect(await sentBack(content, 'tool_use', [], { model: 'claude-opus-4-1' })).toEqual([
      { type: 'text', text: 'At six.' },
      plain,
    ]);
  });

  test('a very long signature goes back complete', async () => {
    const long = { ...thinking, signature: 's'.repeat(300_000) };
    expect(await sentBack([long, use], 'tool_use')).toEqual([long, use]);
  });

  test('hosted arguments that were not JSON go back as {}', async () => {
    const events = sseOf([
      { type: 'content_block_start', index: 0, content_block: search },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"q' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'pause_turn' } },
      { type: 'message_stop' },
    ]);
    const { body } = await send([userItem('u1', 'Hi'), await answerOf(events)]);
    const [, answer] = body['messages'] as readonly { content: unknown }[];
    expect(answer?.content).toEqual([{ ...search, input: {} }]);
  });

  test('is not the explanation of a refusal', async () => {
    const stop_details = { type: 'refusal', explanation: 'No.' };
    const answer = await answerOf(stream([], 'refusal', { stop_details }));
    const { body } = await send([userItem('u1', 'Hi'), answer, userItem('u2', 'Something else')]);
    expect(body['messages']).toHaveLength(1);
    const elsewhere = await send([userItem('u1', 'Hi'), answer, userItem('u2', 'Go')], {
      model: 'claude-opus-4-1',
    });
    expect(elsewhere.body['messages']).toHaveLength(1);
    // A refusal of another model is normal text.
    const foreign: Part = { kind: 'text', text: 'I cannot.', metadata: { refusal: true } };
    const other = await send([
      userItem('u1', 'Hi'),
      { ...answer, parts: [foreign] },
      userItem('u2', 'Go'),
    ]);
    expect(other.body['messages']).toMatchObject([{}, { content: [{ text: 'I cannot.' }] }, {}]);
  });
});

describe('blocks of features', () => {
  const betas = async (content: readonly JsonObject[], asked?: readonly string[]) => {
    const answer = await answerOf(stream(content, 'end_turn'));
    const items = [userItem('u1', 'Hi'), answer, userItem('u2', 'Go')];
    const { headers } = await send(items, asked === undefined ? {} : { betas: asked });
    return headers.get('anthropic-beta');
  };
  const compaction = { type: 'compaction', content: 'Summary' };

  test('turn the feature on that reads them', async () => {
    const mcp = { type: 'mcp_tool_use', id: 'm1', name: 'echo', server_name: 'a', input: {} };
    const result = { type: 'mcp_tool_result', tool_use_id: 'm1', is_error: false, content: [] };
    const fallback = { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } };
    expect((await betas([compaction]))?.split(',')).toEqual(['compact-2026-01-12']);
    expect((await betas([mcp, result]))?.split(',')).toEqual(['mcp-client-2025-11-20']);
    expect(await betas([fallback])).toMatch(/^server-side-fallback-/);
    expect(await betas([cited])).toBeNull();
  });

  test('do not override a version that the caller set', async () => {
    expect(await betas([compaction], ['compact-2027-01-01'])).toBe('compact-2027-01-01');
  });
});

describe('containers', () => {
  const container = { id: 'container_1', expires_at: '2026-01-01T00:00:00Z' };
  const caller = { type: 'code_execution_20250825', tool_id: 's1' };
  const containerIn = async (items: readonly Item[]) => (await send(items)).body['container'];

  test('are named where a call of code in one is answered, and the call keeps its caller', async () => {
    const code = { ...search, name: 'code_execution' };
    const answer = await answerOf(stream([code, { ...use, caller }], 'tool_use', { container }));
    const { body } = await send([userItem('u1', 'Hi'), answer]);
    expect(body['container']).toBe('container_1');
    expect(body['messages']).toMatchObject([{}, { content: [code, { ...use, caller }] }, {}]);
    expect(JSON.stringify(body['messages'])).not.toContain('container_1');
  });

  test('are named after a pause', async () => {
    const answer = await answerOf(stream([search], 'pause_turn', { container }));
    const { body } = await send([userItem('u1', 'Hi'), answer]);
    expect(body['container']).toBe('container_1');
    expect(body['messages']).toMatchObject([{}, { content: [search] }]);
  });

  test('are left out otherwise, because they expire', async () => {
    const answer = await answerOf(stream([search, found, cited], 'end_turn', { container }));
    expect(await containerIn([userItem('u1', 'Hi'), answer, userItem('u2', 'Go')])).toBeUndefined();
    const paused = await answerOf(stream([search], 'pause_turn', { container }));
    const later = { ...(await answerOf(stream([found, cited], 'end_turn'))), id: itemId('later') };
    expect(
      await containerIn([userItem('u1', 'Hi'), paused, later, userItem('u2', 'Go')]),
    ).toBeUndefined();
  });
});
