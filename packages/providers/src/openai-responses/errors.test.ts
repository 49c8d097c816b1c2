import { countingIds } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { openaiResponses } from './provider.ts';

async function listen(events: readonly object[], init?: ResponseInit): Promise<Completion> {
  const { fetch } = fetchOf([sseOf(events)], init);
  const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'key', fetch });
  return provider.complete({ items: [] }, { ids: countingIds() });
}

const text = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Si' };
const call = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'get_tide',
  arguments: '{}',
};
const callDone = { type: 'response.output_item.done', output_index: 1, item: call };
const ended = (type: string, response: object) => ({ type: `response.${type}`, response });
const incomplete = (reason?: string) =>
  ended('incomplete', {
    status: 'incomplete',
    ...(reason === undefined ? {} : { incomplete_details: { reason } }),
  });

describe('reasons to stop', () => {
  test.each([
    ['completed, no call', [ended('completed', {})], 'stop', 'completed'],
    ['completed, with a call', [callDone, ended('completed', {})], 'tool_use', 'completed'],
    ['max_output_tokens', [incomplete('max_output_tokens')], 'length', 'max_output_tokens'],
    [
      'max_output_tokens, with a whole call',
      [callDone, incomplete('max_output_tokens')],
      'length',
      'max_output_tokens',
    ],
    ['content_filter', [incomplete('content_filter')], 'content_filter', 'content_filter'],
    [
      'content_filter, after a refusal',
      [{ ...text, type: 'response.refusal.delta', content_index: 1 }, incomplete('content_filter')],
      'content_filter',
      'content_filter',
    ],
    ['another word', [incomplete('solar_flare')], 'unknown', 'solar_flare'],
    ['a word of every object', [incomplete('constructor')], 'unknown', 'constructor'],
    ['no word', [incomplete()], 'unknown', 'incomplete'],
    ['cancelled', [ended('cancelled', { status: 'cancelled' })], 'unknown', 'cancelled'],
    ['done, as some servers say', [ended('done', { status: 'completed' })], 'stop', 'completed'],
  ])('%s', async (_name, events, reason, raw) => {
    const { stop, error } = await listen([text, ...events]);
    expect(stop).toEqual({ reason, raw });
    expect(error).toBeUndefined();
  });

  test('what the response says of itself counts more than the name of its last event', async () => {
    const response = { status: 'incomplete', incomplete_details: { reason: 'content_filter' } };
    const { stop } = await listen([text, ended('completed', response)]);
    expect(stop.reason).toBe('content_filter');
  });
});

describe('failures', () => {
  const failed = (error: object | null, more: object = {}) =>
    ended('failed', { status: 'failed', error, ...more });
  const quota = {
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message: 'You exceeded your current quota',
  };

  test('trap: error and then response.failed are one failure', async () => {
    const { error, stop, item } = await listen([
      { type: 'response.in_progress', response: {} },
      text,
      { type: 'error', sequence_number: 2, error: quota },
      failed({ code: 'insufficient_quota', message: 'again' }),
    ]);
    expect(error).toMatchObject({ code: 'quota', providerCode: 'insufficient_quota', retry: 'no' });
    expect(error?.message).toContain('You exceeded your current quota');
    expect(error?.message).not.toContain('again');
    expect(stop).toEqual({ reason: 'error', raw: 'insufficient_quota', cause: 'quota' });
    expect(item.parts).toEqual([{ kind: 'text', text: 'Si', partial: true }]);
  });

  test('trap: error is nested in production and flat in the documentation', async () => {
    const { error } = await listen([
      text,
      { type: 'error', code: 'server_error', message: 'Oh no', param: null, sequence_number: 1 },
    ]);
    expect(error).toMatchObject({ code: 'server', providerCode: 'server_error' });
    expect(error?.message).toContain('Oh no');
  });

  test('trap: a quota failure inside a 200 is a quota failure', async () => {
    const { error } = await listen([
      { type: 'response.in_progress', response: {} },
      failed({ code: 'insufficient_quota', message: 'Out of quota' }),
    ]);
    expect(error).toMatchObject({ code: 'quota', retryable: false });
  });

  test('response.failed alone becomes its error, with the usage that it has', async () => {
    const { error, usage } = await listen([
      text,
      failed(
        { code: 'rate_limit_exceeded', message: 'Limit 30000. Please try again in 6s.' },
        { usage: { input_tokens: 40, output_tokens: 3 } },
      ),
    ]);
    expect(error).toMatchObject({ code: 'rate_limit', retryAfterMs: 6000 });
    expect(usage).toMatchObject({ input: 40, output: 3, estimated: false });
  });

  test('response.failed without a reason is a failure of the server', async () => {
    const { error } = await listen([text, failed(null)]);
    expect(error).toMatchObject({ code: 'server' });
    expect(error?.message).toContain('without a reason');
  });

  test('trap: Chat Completions chunks are the wrong API, and the way out is named', async () => {
    const { error } = await listen([{ id: 'x', choices: [{ index: 0, delta: { content: 'a' } }] }]);
    expect(error).toMatchObject({ code: 'protocol_error', retry: 'once' });
    expect(error?.message).toContain('openaiChat');
  });

  test('a chat completion in one piece is the wrong API too', async () => {
    const { fetch } = fetchOf(['{"object":"chat.completion","choices":[]}'], {
      headers: { 'content-type': 'application/json' },
    });
    const provider = openaiResponses({ model: 'm', apiKey: 'key', fetch });
    const { error } = await provider.complete({ items: [] });
    expect(error?.message).toContain('openaiChat');
  });

  test('events without a type, and an answer that is no response, are not this protocol', async () => {
    expect((await listen([{ hello: 1 }])).error).toMatchObject({ code: 'protocol_error' });
    const { fetch } = fetchOf(['{"hello":1}'], {
      headers: { 'content-type': 'application/json' },
    });
    const { error } = await openaiResponses({ model: 'm', apiKey: 'key', fetch }).complete({
      items: [],
    });
    expect(error).toMatchObject({ code: 'protocol_error' });
  });

  test('a response that is still queued is no answer', async () => {
    const { fetch } = fetchOf(['{"object":"response","status":"queued","output":[]}'], {
      headers: { 'content-type': 'application/json' },
    });
    const { error } = await openaiResponses({ model: 'm', apiKey: 'key', fetch }).complete({
      items: [],
    });
    expect(error).toMatchObject({ code: 'truncated_stream' });
  });

  test('an empty 200 is a truncated stream', async () => {
    expect((await listen([])).error).toMatchObject({ code: 'truncated_stream' });
  });

  test.each([
    [401, { error: { message: 'Incorrect API key', code: 'invalid_api_key' } }, 'auth'],
    [429, { error: { message: 'Slow down', code: 'rate_limit_exceeded' } }, 'rate_limit'],
    [429, { error: { message: 'Pay up', code: 'insufficient_quota' } }, 'quota'],
    [400, { error: { message: 'x', code: 'context_length_exceeded' } }, 'context_overflow'],
    [
      400,
      {
        error: {
          message:
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
          type: 'invalid_request_error',
        },
      },
      'history_rejected',
    ],
  ])('status %i with %j is recognized by its text', async (status, body, kind) => {
    const { fetch } = fetchOf([JSON.stringify(body)], { status });
    const { error } = await openaiResponses({ model: 'm', apiKey: 'key', fetch }).complete({
      items: [],
    });
    expect(error).toMatchObject({ code: kind, status });
  });
});
