import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { countingIds, isJsonObject, type JsonValue, parseJson } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { fromAiSdk } from '../ai-sdk/index.ts';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider, StreamStep } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { helloItems } from '../testing/hello-items.ts';
import { casesOf } from '../testing/play.ts';
import { type Wire, wires } from '../testing/recordings.ts';

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

test('18.867: attack: a provider package of the AI SDK repeats the key', async () => {
  const about = { providerMetadata: { x: { key: apiKey } } };
  const call = { toolCallId: `call ${apiKey}`, toolName: `pay ${apiKey}` };
  const usage = {
    inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined },
  };
  const parts: LanguageModelV4StreamPart[] = [
    { type: 'response-metadata', id: apiKey, modelId: `m ${apiKey}` },
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'Hm' },
    { type: 'reasoning-end', id: 'r', ...about },
    {
      type: 'source',
      sourceType: 'url',
      id: 's',
      url: `https://x.example/${apiKey}`,
      title: apiKey,
    },
    { type: 'tool-call', ...call, input: '{}', ...about },
    { type: 'finish', finishReason: { unified: 'tool-calls', raw: apiKey }, usage, ...about },
  ];
  const model: LanguageModelV4 = {
    ...{ specificationVersion: 'v4', provider: 'maker', modelId: 'm-1', supportedUrls: {} },
    doGenerate: () => Promise.reject(new Error('never called')),
    doStream: async () => ({ stream: ReadableStream.from(parts) }),
  };
  const steps = await stepsOf(fromAiSdk(model, { secrets: [apiKey] }));
  expect(JSON.stringify(steps)).not.toContain(apiKey);
  expect(JSON.stringify(steps)).toContain('call redacted');
});

test.for([
  ['the query of the base URL', { baseUrl: `http://localhost:9/v1?sig=${apiKey}` }],
  ['the password of a header', { headers: { authorization: `Basic ${btoa(`me:${apiKey}`)}` } }],
  ['a cookie', { headers: { cookie: `a=b; login=${apiKey}` } }],
] as const)('18.868: attack: a provider repeats %s', async ([, options]) => {
  const fetch = sending(chunk, last);
  const provider = openaiChat({ model: 'm', baseUrl: 'http://localhost:9', fetch, ...options });
  const end = await provider.complete({ items: [] });
  expect(end.model).toBe('model [redacted]');
  expect(JSON.stringify(end)).not.toContain(apiKey);
});

/** A key with characters that JSON and URLs escape. */
const oddKey = 'zanzibar "tulip" \\31415/+';

const providers: Readonly<Record<Wire, (fetch: typeof globalThis.fetch, key: string) => Provider>> =
  {
    'openai-chat': (fetch, key) => openaiChat({ model: 'm', apiKey: key, fetch }),
    'openai-responses': (fetch, key) => openaiResponses({ model: 'm', apiKey: key, fetch }),
    anthropic: (fetch, key) => anthropic({ model: 'claude-sonnet-4-5', apiKey: key, fetch }),
    gemini: (fetch, key) => gemini({ model: 'gemini-3-pro', apiKey: key, fetch }),
  };

type Path = readonly (string | number)[];

/** The paths of all texts in a value, except the name of the event, which decides how it is read. */
function textPaths(value: JsonValue, path: Path = []): readonly Path[] {
  if (typeof value === 'string') return path.join() === 'type' ? [] : [path];
  if (Array.isArray(value)) return value.flatMap((one, at) => textPaths(one, [...path, at]));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => textPaths(one ?? null, [...path, name]));
}

function replacedAt(
  value: JsonValue,
  [first, ...rest]: Path,
  change: (text: string) => JsonValue,
): JsonValue {
  if (first === undefined) return change(String(value));
  const copy = structuredClone(value) as Record<string | number, JsonValue>;
  copy[first] = replacedAt(copy[first] ?? null, rest, change);
  return copy;
}

interface Field {
  readonly title: string;
  readonly name: string;
  readonly lines: readonly string[];
  readonly at: number;
  readonly path: Path;
}

/** Each text field of the recordings of a wire, once for each kind of event. */
function fieldsOf(wire: Wire): readonly Field[] {
  const fields = new Map<string, Field>();
  for (const { name, lines } of casesOf(wire)) {
    for (const [at, line] of lines.entries()) {
      const parsed = parseJson(line);
      if (!parsed.ok) continue;
      const kind = isJsonObject(parsed.value) ? (parsed.value['type'] ?? '') : '';
      for (const path of textPaths(parsed.value)) {
        const title = `${kind} ${path.map((step) => (typeof step === 'number' ? '*' : step)).join('.')}`;
        if (!fields.has(title)) fields.set(title, { title, name, lines, at, path });
      }
    }
  }
  return [...fields.values()];
}

async function stepsOf(provider: Provider): Promise<readonly StreamStep[]> {
  const ids = countingIds();
  const context = { item: { id: ids.item(), turn: 1, attempt: 1 }, ids };
  const steps: StreamStep[] = [];
  for await (const step of provider.stream({ items: helloItems }, context)) steps.push(step);
  return steps;
}

/** The texts of an answer. A provider can write the key there. */
const texts = new Set(['chunk', 'text', 'arguments', 'input']);

/** Returns the places of a key in steps, except in the texts of the answer. */
function placesOf(value: unknown, forms: readonly string[], path = ''): readonly string[] {
  const isIn = (text: string) => forms.some((form) => text.includes(form));
  if (typeof value === 'string') return isIn(value) ? [`${path}: ${value}`] : [];
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  // An error has a message, a stack and a cause, which are not enumerable.
  const names = value instanceof Error ? Reflect.ownKeys(value) : Object.keys(value);
  return names.flatMap((key) => {
    const name = String(key);
    const isAnswer = texts.has(name) && /deltas\.\d+(?:\.part)?$/.test(path);
    const found = isAnswer ? [] : placesOf(Reflect.get(value, key), forms, `${path}.${name}`);
    return isIn(name) ? [`${path}: the field ${name}`, ...found] : found;
  });
}

describe.each(wires)('18.860: attack: a server of %s repeats the key', (wire) => {
  const fields = fieldsOf(wire);

  test.each([
    ['behind a value', apiKey, (text: string, key: string) => `${text}${key}`],
    ['as a value', oddKey, (_: string, key: string) => key],
    ['in a nested JSON text', oddKey, (_: string, key: string) => JSON.stringify({ key })],
    ['as a field', apiKey, (text: string, key: string) => ({ [key]: text, key })],
    ['encoded in an address', oddKey, (_: string, key: string) => `/${encodeURIComponent(key)}`],
  ])('%s, in each field of recorded answers in turn', async (_, key, change) => {
    expect(fields.length).toBeGreaterThan(20);
    const forms = [key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key)];
    const found: string[] = [];
    for (const { title, lines, at, path } of fields) {
      const changed = lines.map((line, index) => {
        const parsed = parseJson(line);
        if (index !== at || !parsed.ok) return line;
        return JSON.stringify(replacedAt(parsed.value, path, (text) => change(text, key)));
      });
      const { fetch } = fetchOf([frameRecording(wire, changed)]);
      const steps = await stepsOf(providers[wire](fetch, key));
      for (const place of placesOf(steps, forms)) found.push(`${title} -> ${place}`);
    }
    expect(found).toEqual([]);
  });
});
