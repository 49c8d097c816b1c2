import type { JsonValue } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { WireName } from '../answers/wire-answer.ts';
import { requestFaults } from './request-faults.ts';

const user = { role: 'user', content: 'Tide?' };
const good: Readonly<Record<WireName, JsonValue>> = {
  anthropic: { model: 'm', max_tokens: 9, stream: true, messages: [user] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Tide?' }] }] },
  'openai-chat': { model: 'm', stream: true, messages: [user] },
  'openai-responses': { model: 'm', stream: true, store: false, input: [user] },
};

/** The faults of a valid request with some fields changed. */
const faultsWith = (wire: WireName, fields: object) =>
  requestFaults(wire, JSON.parse(JSON.stringify({ ...Object(good[wire]), ...fields })));

test.each(Object.keys(good) as WireName[])('%s: a valid request has no faults', (wire) => {
  expect(requestFaults(wire, good[wire])).toEqual([]);
  expect(requestFaults(wire, undefined)).not.toEqual([]);
});

describe('fields that the wire does not have are found', () => {
  test.each<[WireName, object, string]>([
    ['anthropic', { n: 2 }, 'n: unknown field'],
    ['gemini', { model: 'gemini-3-pro' }, 'model: unknown field'],
    ['openai-chat', { max_output_tokens: 9 }, 'max_output_tokens: unknown field'],
    ['openai-responses', { n: 2 }, 'n: unknown field'],
    [
      'anthropic',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', id: 'b' }] }] },
      'messages[0].content[0].id: unknown field',
    ],
    [
      'anthropic',
      { system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', until: 9 } }] },
      'system[0].cache_control.until: unknown field',
    ],
    [
      'gemini',
      { generationConfig: { thinkingConfig: { budget: 9 } } },
      'generationConfig.thinkingConfig.budget: unknown field',
    ],
    [
      'openai-chat',
      { stream_options: { include_usage: true, always: true } },
      'stream_options.always: unknown field',
    ],
    [
      'openai-responses',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 'a', size: 1 }] }] },
      'input[0].content[0].size: unknown field',
    ],
  ])('%s: %j', (wire, fields, fault) => expect(faultsWith(wire, fields)).toEqual([fault]));
});

describe('values that a field cannot have are found', () => {
  test.each<[WireName, object, string]>([
    ['anthropic', { service_tier: 'slow' }, 'service_tier: must be "auto" or "standard_only"'],
    ['anthropic', { max_tokens: undefined }, 'max_tokens: missing'],
    ['gemini', { generationConfig: { topP: 'all' } }, 'generationConfig.topP: must be a number'],
    ['gemini', { tools: {} }, 'tools: must be a list'],
    ['openai-chat', { n: [1] }, 'n: must not be a list'],
    ['openai-chat', { seed: 'x' }, 'seed: must be null or a number'],
    ['openai-responses', { store: 'no' }, 'store: must be true or false or null'],
    [
      'openai-responses',
      { tools: [{ type: 'telescope' }] },
      'tools[0].type: "telescope" is not known here',
    ],
    ['openai-responses', { tools: [{}] }, 'tools[0].type: missing'],
  ])('%s: %j', (wire, fields, fault) => expect(faultsWith(wire, fields)).toEqual([fault]));
});

test('fields of compatible servers are accepted', () => {
  const answer = { role: 'assistant', content: 'Six.', reasoning_content: 'Hm.' };
  const messages = [user, answer, user];
  expect(faultsWith('openai-chat', { messages, thinking: { type: 'enabled' } })).toEqual([]);
});

test('data of the user may have any fields', () => {
  const use = { type: 'tool_use', id: 'a', name: 'tide', input: { any: { depth: 1 } } };
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'six' };
  const messages = [
    user,
    { role: 'assistant', content: [use] },
    { role: 'user', content: [result] },
  ];
  const tools = [{ name: 'tide', input_schema: { type: 'object', 'x-own': { a: 1 } } }];
  expect(faultsWith('anthropic', { messages, tools })).toEqual([]);
});
