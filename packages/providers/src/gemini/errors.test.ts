import { countingIds, type Item, itemId, type JsonObject, type StopReason } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { gemini } from './provider.ts';

const question: Item = { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: 'When?' }] };

function answer(events: readonly (object | string)[], init?: ResponseInit): Promise<Completion> {
  const { fetch } = fetchOf([sseOf(events)], init);
  const provider = gemini({ model: 'gemini-3-pro-preview', apiKey: 'AIza-test', fetch });
  return provider.complete({ items: [question] }, { ids: countingIds() });
}

const says = (text: string): JsonObject => ({ candidates: [{ content: { parts: [{ text }] } }] });
const calls = (name: string, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { parts: [{ functionCall: { name, args: { a: 1 } } }] }, ...more }],
});
const ends = (finishReason: string, more: JsonObject = {}): JsonObject => ({
  candidates: [{ finishReason, ...more }],
});

describe('finish reasons', () => {
  const table: readonly (readonly [StopReason, string])[] = [
    ['stop', 'STOP'],
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'SAFETY'],
    ['content_filter', 'RECITATION'],
    ['content_filter', 'BLOCKLIST'],
    ['content_filter', 'PROHIBITED_CONTENT'],
    ['content_filter', 'SPII'],
    ['content_filter', 'IMAGE_SAFETY'],
    ['content_filter', 'IMAGE_PROHIBITED_CONTENT'],
    ['content_filter', 'IMAGE_RECITATION'],
    ['unknown', 'OTHER'],
    ['unknown', 'LANGUAGE'],
    ['unknown', 'FINISH_REASON_UNSPECIFIED'],
    ['unknown', 'SOMETHING_NEW'],
    ['unknown', 'constructor'],
  ];

  test.each(table)('%s is said as %s', async (reason, raw) => {
    const { stop, text, error } = await answer([says('x'), ends(raw)]);
    expect(stop).toEqual({ reason, raw });
    expect(text).toBe('x');
    expect(error).toBeUndefined();
  });

  test('STOP with a call is tool_use', async () => {
    const { stop } = await answer([calls('get_tide'), ends('STOP')]);
    expect(stop).toEqual({ reason: 'tool_use', raw: 'STOP' });
  });

  test.each(['MAX_TOKENS', 'SAFETY', 'OTHER'])('%s with a call is never promoted', async (raw) => {
    const { stop, item } = await answer([calls('get_tide', { finishReason: raw })]);
    expect(stop.reason).not.toBe('tool_use');
    expect(item.parts).toHaveLength(1);
  });

  test('finishMessage is kept as the cause', async () => {
    const { stop } = await answer([ends('SAFETY', { finishMessage: 'blocked: 7' })]);
    expect(stop).toEqual({ reason: 'content_filter', raw: 'SAFETY', cause: 'blocked: 7' });
  });

  test('E15: the parts of the event with the finish reason are read first', async () => {
    const { stop, item } = await answer([calls('get_tide', { finishReason: 'STOP' })]);
    expect(stop.reason).toBe('tool_use');
    expect(item.parts).toMatchObject([{ kind: 'tool_call', name: 'get_tide', input: { a: 1 } }]);
  });

  test('E19: with STOP in every event, equal texts in a row are all kept', async () => {
    const piece = (text: string, count?: number) => ({
      candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }],
      ...(count === undefined ? {} : { usageMetadata: { candidatesTokenCount: count } }),
    });
    const uncounted = await answer([piece('a'), piece('a'), piece('b')]);
    expect(uncounted.text).toBe('aab');
    const counted = await answer([piece('a', 1), piece('a', 2), piece('b', 3), piece('b', 4)]);
    expect(counted.text).toBe('aabb');
  });

  test('E17: with STOP in every event, equal calls are one unless more was written', async () => {
    const again = (count?: number) => ({
      ...calls('roll', { finishReason: 'STOP' }),
      ...(count === undefined ? {} : { usageMetadata: { candidatesTokenCount: count } }),
    });
    expect((await answer([again(), again()])).item.parts).toHaveLength(1);
    expect((await answer([again(), again(5)])).item.parts).toHaveLength(1);
    expect((await answer([again(5), again(9)])).item.parts).toHaveLength(2);
  });

  test('E16: the last event again changes nothing, whatever is in it', async () => {
    const last = {
      usageMetadata: { candidatesTokenCount: 7 },
      candidates: [
        {
          content: {
            parts: [
              { text: 'x' },
              { text: '', thoughtSignature: 's1' },
              { functionCall: { name: 'get_tide' } },
            ],
          },
          finishReason: 'STOP',
        },
      ],
    };
    const once = await answer([last]);
    const twice = await answer([last, last]);
    expect(twice.item.parts).toEqual(once.item.parts);
    expect(twice.stop).toEqual(once.stop);
  });

  test('text after a finish reason is not lost, and the last reason counts', async () => {
    const piece = (text: string, finishReason: string) => ({
      candidates: [{ content: { parts: [{ text }] }, finishReason }],
    });
    const { text, stop } = await answer([piece('a', 'STOP'), piece('b', 'MAX_TOKENS')]);
    expect(text).toBe('ab');
    expect(stop.reason).toBe('length');
  });
});

describe('failures that are finish reasons', () => {
  test.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'])(
    '%s is invalid output, and the received text before stays',
    async (raw) => {
      const finishMessage = 'Malformed function call: print(get_tide())';
      const response = await answer([
        says('Let me see.'),
        { ...ends(raw, { finishMessage }), usageMetadata: { promptTokenCount: 7 } },
      ]);
      expect(response.stop).toEqual({ reason: 'error', raw, cause: 'model_output_invalid' });
      expect(response.error).toMatchObject({ kind: 'model_output_invalid', providerCode: raw });
      expect(response.error?.message).toContain(finishMessage);
      expect(response.item.parts).toEqual([{ kind: 'text', text: 'Let me see.' }]);
      expect(response.usage.input).toBe(7);
    },
  );

  test.each(['IMAGE_OTHER', 'NO_IMAGE'])('%s is an error that may pass', async (raw) => {
    const { stop, error } = await answer([ends(raw)]);
    expect(stop).toMatchObject({ reason: 'error', raw });
    expect(error).toMatchObject({ kind: 'server', retryable: true });
  });

  test('18.1427: attack: a finishMessage with the key is cut inside of the key', async () => {
    for (const before of [480, 490, 495]) {
      const finishMessage = `It is ${'x '.repeat(before / 2 - 3)}AIza-test and more`;
      const failed = await answer([ends('MALFORMED_FUNCTION_CALL', { finishMessage })]);
      const stopped = await answer([ends('SAFETY', { finishMessage })]);
      expect(failed.error?.message).not.toContain('AIza');
      expect(stopped.stop.cause).not.toContain('AIza');
    }
  });

  test('a long finishMessage is clipped', async () => {
    const finishMessage = 'x'.repeat(100_000);
    const failed = await answer([ends('MALFORMED_FUNCTION_CALL', { finishMessage })]);
    const stopped = await answer([ends('SAFETY', { finishMessage })]);
    expect(failed.error?.message.length).toBeLessThan(1000);
    expect(stopped.stop.cause?.length).toBeLessThan(1000);
  });
});

describe('a blocked prompt', () => {
  test('trap: only promptFeedback, no candidate: content_filter, not an empty success', async () => {
    const { stop, usage, error } = await answer([
      {
        promptFeedback: { blockReason: 'PROHIBITED_CONTENT', blockReasonMessage: 'no' },
        usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      },
    ]);
    expect(stop).toEqual({ reason: 'content_filter', raw: 'PROHIBITED_CONTENT', cause: 'no' });
    expect(usage).toMatchObject({ input: 9, output: 0, estimated: false });
    expect(error).toBeUndefined();
  });

  test('feedback without a reason blocks nothing', async () => {
    const { error } = await answer([{ promptFeedback: { safetyRatings: [] } }]);
    expect(error?.kind).toBe('truncated_stream');
  });
});

describe('errors', () => {
  test('trap: an error in the middle of a 200 is the end, and the text stays as partial', async () => {
    const failure = { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } };
    const { item, error, stop } = await answer([says('At'), failure, says(' six'), ends('STOP')]);
    expect(error).toMatchObject({ kind: 'overloaded', providerCode: 'UNAVAILABLE' });
    expect(stop.reason).toBe('error');
    expect(item.parts).toEqual([{ kind: 'text', text: 'At', partial: true }]);
  });

  test('a bare error after the events, which Flex sends, counts too', async () => {
    const failed = { error: { code: 429, message: 'x', status: 'RESOURCE_EXHAUSTED' } };
    const failure = `${JSON.stringify(failed, undefined, 2)}\n`;
    const { fetch } = fetchOf([`${sseOf([says('At')])}${failure}`]);
    const provider = gemini({ model: 'gemini-3-pro-preview', apiKey: 'k', fetch });
    const { error } = await provider.complete({ items: [question] });
    expect(error?.kind).toBe('rate_limit');
  });

  test('a refused request says how long to wait', async () => {
    const body = {
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }],
      },
    };
    const { fetch } = fetchOf([JSON.stringify(body)], { status: 429 });
    const provider = gemini({ model: 'gemini-3-pro-preview', apiKey: 'k', fetch });
    const { error } = await provider.complete({ items: [question] });
    expect(error).toMatchObject({ kind: 'rate_limit', retryAfterMs: 34_070 });
  });

  test.each([
    ['Function call is missing a thought_signature in functionCall parts.', 'history_rejected'],
    [
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'context_overflow',
    ],
    ['Thinking level MINIMAL is not supported for this model.', 'invalid_request'],
  ])('a 400 with "%s" is %s', async (message, kind) => {
    const body = { error: { code: 400, message, status: 'INVALID_ARGUMENT' } };
    const { fetch } = fetchOf([JSON.stringify(body)], { status: 400 });
    const provider = gemini({ model: 'gemini-3-pro-preview', apiKey: 'k', fetch });
    const { error } = await provider.complete({ items: [question] });
    expect(error?.kind).toBe(kind);
  });

  test('trap: an empty stream is truncated, and so is one with usage only', async () => {
    for (const events of [[], [{ usageMetadata: { promptTokenCount: 3 } }]]) {
      const { error } = await answer(events);
      expect(error).toMatchObject({ kind: 'truncated_stream', retryable: true });
    }
  });

  test('E25: a stream without finish reason is truncated, whatever came', async () => {
    const { error, item, stop } = await answer([says('At'), calls('get_tide')]);
    expect(error?.kind).toBe('truncated_stream');
    expect(stop.reason).toBe('error');
    expect(item.parts[0]).toEqual({ kind: 'text', text: 'At' });
  });

  test('an event that is not JSON object is a protocol error', async () => {
    for (const event of ['{"candidates":[', '[]', '"x"']) {
      const { error } = await answer([says('At'), event, ends('STOP')]);
      expect(error?.kind).toBe('protocol_error');
    }
  });
});
