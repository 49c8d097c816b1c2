import { countingIds, itemId } from '@millrace/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import { recordCassette } from '../cassette/index.ts';
import { gemini } from '../gemini/provider.ts';
import type { ChatOptions } from '../openai-chat/options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { type ScriptedServer, startScriptedServer } from '../scripted-server/index.ts';
import { helloItems } from '../testing/hello-items.ts';

let server: ScriptedServer;
beforeEach(async () => {
  server = await startScriptedServer();
});
afterEach(() => server.close());

const trace = { traceparent: `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`, tracestate: 'a=1' };

async function sent(
  options: Partial<ChatOptions> = {},
  given: { readonly trace?: typeof trace } = { trace },
) {
  server.answer({ text: 'Hi' });
  const provider = openaiChat({ model: 'm', baseUrl: server.url, apiKey: 'k', ...options });
  const { error } = await provider.complete(
    { items: helloItems },
    { ids: countingIds(), ...given },
  );
  expect(error).toBeUndefined();
  const { headers } = server.requests.at(-1) ?? expect.fail();
  return [headers['traceparent'], headers['tracestate']];
}

test.each([
  ['chat completions', openaiChat],
  ['responses', openaiResponses],
  ['anthropic', anthropic],
  ['gemini', gemini],
] as const)('%s: a request says which trace it is part of', async (_name, make) => {
  server.answer({ text: 'Hi' });
  const provider = make({ model: 'm', baseUrl: server.url, apiKey: 'k' });
  const parts = [{ kind: 'text', text: 'Hi' }] as const;
  const item = { id: itemId('i'), kind: 'user', parts } as const;
  await provider.complete({ items: [item] }, { ids: countingIds(), trace });
  expect(server.requests[0]?.headers).toMatchObject(trace);
});

test('a request without a trace has no trace headers', async () => {
  expect(await sent({}, {})).toEqual([undefined, undefined]);
});

test('a provider with sendsTrace: false does not send it', async () => {
  expect(await sent({ sendsTrace: false })).toEqual([undefined, undefined]);
});

test('a header of the caller overrides it', async () => {
  expect(await sent({ headers: { Traceparent: 'mine' } })).toEqual(['mine', 'a=1']);
});

test('it is in no recording, and what is recorded is the same with it and without', async () => {
  const recorded = async (given: { readonly trace?: typeof trace }) => {
    const recorder = recordCassette();
    await sent({ fetch: recorder.fetch }, given);
    return recorder.cassette().exchanges.map(({ request }) => request);
  };
  const [withTrace, without] = [await recorded({ trace }), await recorded({})];
  expect(JSON.stringify(withTrace)).not.toContain('ab'.repeat(16));
  expect(withTrace.map(({ headers, body }) => ({ headers, body }))).toEqual(
    without.map(({ headers, body }) => ({ headers, body })),
  );
});
