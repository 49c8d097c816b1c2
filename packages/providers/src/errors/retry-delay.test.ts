import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openaiChat } from '../openai-chat/provider.ts';
import {
  jsonReply,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
  streamReply,
} from '../scripted-server/index.ts';
import { sseText, textEvent } from '../testing/chat-events.ts';
import { helloItems } from '../testing/hello-items.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const nowMs = Date.parse('Wed, 21 Oct 2015 07:28:00 GMT');
const clock = new VirtualClock(nowMs);
let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());

async function delayOf(reply: Reply): Promise<number | undefined> {
  server.reply(reply);
  const provider = openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'nobody', clock });
  const { error } = await provider.complete({ items: helloItems });
  expect(error).toBeDefined();
  return error?.retryAfterMs;
}

const limited = (headers: Record<string, string>, message = 'Slow down') =>
  jsonReply(429, { error: { message, code: 'rate_limit_exceeded' } }, headers);

const maxMs = 2 ** 31 - 1;

describe('a delay in a header', () => {
  test.each<[string, string, number | undefined]>([
    ['retry-after-ms', '1500', 1500],
    ['retry-after-ms', '0.5', 1],
    ['retry-after', '7', 7000],
    ['retry-after', '1.5', 1500],
    ['retry-after', '0', 0],
    ['retry-after', 'Wed, 21 Oct 2015 07:28:30 GMT', 30_000],
    ['retry-after', 'Wed, 21 Oct 2015 07:00:00 GMT', 0],
    ['retry-after', '2015-10-21T07:29:00Z', 60_000],
    ['retry-after', '5s', 5000],
    ['retry-after', '9'.repeat(40), maxMs],
    ['retry-after', 'soon', undefined],
    ['retry-after', '-5', undefined],
    ['x-ratelimit-reset-after', '12', 12_000],
    ['x-ratelimit-reset-after', '6m0s', 360_000],
    ['x-ratelimit-reset', String(nowMs / 1000 + 20), 20_000],
    ['x-ratelimit-reset', String(nowMs + 20_000), 20_000],
    ['x-ratelimit-reset', String(nowMs - 20_000), 0],
    ['x-ratelimit-reset', '20', 20_000],
    ['x-ratelimit-reset', '1m30.5s', 90_500],
  ])('%s: %s', async (name, value, expected) => {
    expect(await delayOf(limited({ [name]: value }))).toBe(expected);
  });

  test('the more exact one counts, and a header before the text', async () => {
    const headers = {
      'x-ratelimit-reset': '40',
      'x-ratelimit-reset-after': '30',
      'retry-after': '20',
      'retry-after-ms': '10',
    };
    const text = 'Please try again in 50s';
    expect(await delayOf(limited(headers, text))).toBe(10);
    const { 'retry-after-ms': _ms, ...seconds } = headers;
    expect(await delayOf(limited(seconds, text))).toBe(20_000);
    const { 'retry-after': _seconds, ...resets } = seconds;
    expect(await delayOf(limited(resets, text))).toBe(30_000);
    const { 'x-ratelimit-reset-after': _after, ...reset } = resets;
    expect(await delayOf(limited(reset, text))).toBe(40_000);
    expect(await delayOf(limited({}, text))).toBe(50_000);
  });

  test('counts for any error', async () => {
    const reply = jsonReply(500, { error: { message: 'no' } }, { 'retry-after': '3' });
    expect(await delayOf(reply)).toBe(3000);
  });

  test('and the reset time counts only for rate limits, because some servers always send it', async () => {
    const headers = { 'x-ratelimit-reset': '40', 'x-ratelimit-reset-after': '40' };
    const body = { error: { message: 'no' } };
    expect(await delayOf(jsonReply(500, body, headers))).toBeUndefined();
    expect(await delayOf(jsonReply(400, body, headers))).toBeUndefined();
    expect(await delayOf(jsonReply(503, body, headers))).toBe(40_000);
  });

  test('but not in a successful response', async () => {
    const headers = { 'x-ratelimit-reset': '40', 'retry-after': '40' };
    expect(await delayOf(streamReply([sseText(textEvent('a'))], headers))).toBeUndefined();
  });
});

describe('a delay in a text', () => {
  test.each<[string, number | undefined]>([
    ['Rate limit reached. Please try again in 5s. Visit https://x', 5000],
    ['Please try again in 1m30.5s.', 90_500],
    ['Please try again in 20ms.', 20],
    ['Please retry in 34.074824224s.', 34_075],
    ['Please retry after 20 seconds.', 20_000],
    ['Try again in 2 minutes', 120_000],
    ['Try again in 1 hour 5 minutes', 3_900_000],
    ['Try again in 500 milliseconds', 500],
    ['Try again in 2 days', 172_800_000],
    ['Your quota will reset after 18h31m10s.', 66_670_000],
    ['The limit resets in 10 min', 600_000],
    ['Please wait 15 seconds before trying again', 15_000],
    ['Please wait for 15s', 15_000],
    ['Please try again later', undefined],
    ['Please try again in a while', undefined],
    ['We retry 3 times', undefined],
    [`try again in ${'9'.repeat(400)}s`, maxMs],
  ])('%s', async (message, expected) => {
    expect(await delayOf(limited({}, message))).toBe(expected);
  });

  test('Gemini in a detail', async () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' },
    ];
    const error = { code: 429, message: 'Exhausted', status: 'RESOURCE_EXHAUSTED', details };
    expect(await delayOf(jsonReply(429, { error }))).toBe(34_070);
    expect(await delayOf(jsonReply(429, [{ error }]))).toBe(34_070);
    const metadata = { raw: JSON.stringify({ error }) };
    const behind = { error: { code: 429, message: 'Provider returned error', metadata } };
    expect(await delayOf(jsonReply(429, behind))).toBe(34_070);
  });

  test('also inside a stream', async () => {
    const error = JSON.stringify({ error: { message: 'Rate limit: try again in 3s' } });
    expect(await delayOf(streamReply([sseText(error)]))).toBe(3000);
  });

  test('also where it is all there is', async () => {
    expect(await delayOf({ status: 429, steps: ['retry after 9s'] })).toBe(9000);
    expect(await delayOf(jsonReply(429, { message: 'retry after 9s' }))).toBe(9000);
    expect(await delayOf(jsonReply(429, { error: 'retry after 9s' }))).toBe(9000);
  });
});
