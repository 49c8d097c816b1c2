import { expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';

// A hostile provider repeats the key of the request in fields that are stored on the log.

const apiKey = 'key-7f3a9c-of-the-user';

/** A server that sends these chunks of the Chat API. */
const sending =
  (...chunks: readonly object[]): typeof fetch =>
  async () => {
    const lines = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
    const body = lines.map((line) => `data: ${line}\n\n`).join('');
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };

const chunk = {
  ...{ id: `id-${apiKey}`, model: `model ${apiKey}`, system_fingerprint: `fp ${apiKey}` },
  ...{ service_tier: apiKey, choices: [{ index: 0, delta: { content: 'Hi' } }] },
};
const last = { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: `odd ${apiKey}` }] };

test.for([
  ['the option apiKey', { apiKey }],
  ['a header', { headers: { authorization: `Bearer ${apiKey}` } }],
  ['a header of a proxy', { headers: { 'x-proxy-key': apiKey } }],
] as const)('attack 49: a provider repeats the key of %s in the details', async ([, options]) => {
  const fetch = sending(chunk, last);
  const provider = openaiChat({ model: 'm', baseUrl: 'http://localhost:9', fetch, ...options });
  const end = await provider.complete({ items: [] });
  expect(end.model).toBe('model [redacted]');
  expect(JSON.stringify(end)).not.toContain(apiKey);
});

test('attack 49: a provider of Messages repeats the key in the name of the model', async () => {
  const message = { id: apiKey, model: apiKey, type: 'message', role: 'assistant', content: [] };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const fetch = sending(
    { type: 'message_start', message: { ...message, usage } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  );
  const end = await anthropic({ model: 'm', apiKey, fetch }).complete({ items: [] });
  expect(JSON.stringify(end)).not.toContain(apiKey);
});

test('18.202: attack: a provider repeats a key in the path of the base URL', async () => {
  const options = { model: 'm', baseUrl: `http://localhost:9/${apiKey}/v1`, secrets: [apiKey] };
  const end = await openaiChat({ ...options, fetch: sending(chunk, last) }).complete({ items: [] });
  expect(JSON.stringify(end)).not.toContain(apiKey);
  const refusing: typeof fetch = async (url) => new Response(`No route ${url}`, { status: 404 });
  const { error } = await openaiChat({ ...options, fetch: refusing }).complete({ items: [] });
  expect(error?.message).toContain('/[redacted]/v1');
  expect(error?.message).not.toContain(apiKey);
});

test('other names and ids do not change', async () => {
  const plain = { ...chunk, id: 'chatcmpl-1', model: 'gpt-2023-06-01' };
  const fetch = sending(plain, { ...last, id: 'chatcmpl-1', model: 'gpt-2023-06-01' });
  const options = { model: 'm', baseUrl: 'http://localhost:9', fetch, apiKey: 'gpt' };
  const end = await openaiChat(options).complete({ items: [] });
  expect(end).toMatchObject({ model: 'gpt-2023-06-01', responseId: 'chatcmpl-1' });
});
