import { countingIds, type Item, itemId, type JsonObject } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { gemini } from './provider.ts';

const model = 'gemini-3-pro-preview';
const question: Item = {
  id: itemId('u1'),
  kind: 'user',
  parts: [{ kind: 'text', text: 'When is high water?' }],
};

/** The completion of these events. */
function answer(
  events: readonly (object | string)[],
  request: Partial<ModelRequest> = {},
): Promise<Completion> {
  const { fetch } = fetchOf([sseOf(events)]);
  const provider = gemini({ model, apiKey: 'AIza-test', fetch });
  return provider.complete({ items: [question], ...request }, { ids: countingIds() });
}

/** An event with these parts. */
function parts(...list: readonly JsonObject[]): JsonObject {
  return { candidates: [{ content: { parts: list, role: 'model' }, index: 0 }] };
}

const finish = (finishReason: string, more: JsonObject = {}): JsonObject => ({
  candidates: [{ finishReason, index: 0, ...more }],
});
const stop = finish('STOP');

const signed = (thoughtSignature: string) => ({
  providerState: { provider: 'gemini', model, data: { thoughtSignature } },
});

describe('text', () => {
  test('is appended as it came, and the parts of one kind are one', async () => {
    const { item, text } = await answer([
      parts({ text: 'At' }),
      parts({ text: ' six' }, { text: '.' }),
      stop,
    ]);
    expect(item.parts).toEqual([{ kind: 'text', text: 'At six.' }]);
    expect(text).toBe('At six.');
  });

  test('trap: whitespace alone is text', async () => {
    const { text } = await answer([parts({ text: ' \n' }), parts({ text: '\t' }), stop]);
    expect(text).toBe(' \n\t');
  });

  test('E19: equal pieces in a row are all kept', async () => {
    const { text } = await answer([parts({ text: 'ha' }), parts({ text: 'ha' }), stop]);
    expect(text).toBe('haha');
  });

  test('E27: halves of a surrogate pair in two events are joined', async () => {
    const { text } = await answer([
      '{"candidates":[{"content":{"parts":[{"text":"a\\ud83d"}]}}]}',
      '{"candidates":[{"content":{"parts":[{"text":"\\ude00b"}]},"finishReason":"STOP"}]}',
    ]);
    expect(text).toBe('a\u{1f600}b');
  });

  test('an empty text makes no part', async () => {
    const { item } = await answer([parts({ text: '' }), stop]);
    expect(item.parts).toEqual([]);
  });
});

describe('thoughts', () => {
  test('are reasoning in the form of a summary', async () => {
    const { item } = await answer([
      parts({ text: 'The moon', thought: true }),
      parts({ text: ' pulls.', thought: true }),
      parts({ text: 'Six.' }),
      stop,
    ]);
    expect(item.parts).toEqual([
      { kind: 'reasoning', form: 'summary', text: 'The moon pulls.' },
      { kind: 'text', text: 'Six.' },
    ]);
  });

  test('E23: between texts they are parts of their own, in their order', async () => {
    const { item } = await answer([
      parts({ text: 'a' }, { text: 'b', thought: true }, { text: 'c' }),
      parts({ text: 'd', thought: true }),
      stop,
    ]);
    expect(item.parts.map((part) => [part.kind, 'text' in part && part.text])).toEqual([
      ['text', 'a'],
      ['reasoning', 'b'],
      ['text', 'c'],
      ['reasoning', 'd'],
    ]);
  });

  test('E24: only thoughts and MAX_TOKENS is a valid end', async () => {
    const { stop: end, error } = await answer([
      parts({ text: 'hm', thought: true }),
      finish('MAX_TOKENS'),
    ]);
    expect(end).toEqual({ reason: 'length', raw: 'MAX_TOKENS' });
    expect(error).toBeUndefined();
  });
});

describe('thoughtSignature', () => {
  test('trap: on a last part with empty text it is kept, on an empty text part of its own', async () => {
    const { item } = await answer([
      parts({ text: 'There are 3.' }),
      { candidates: [{ content: { parts: [{ text: '', thoughtSignature: 'c2ln' }] }, ...end() }] },
    ]);
    expect(item.parts).toEqual([
      { kind: 'text', text: 'There are 3.' },
      { kind: 'text', text: '', ...signed('c2ln') },
    ]);
  });

  test('trap: it is kept where no text came before', async () => {
    const { item } = await answer([parts({ text: '', thoughtSignature: 'c2ln' }), stop]);
    expect(item.parts).toEqual([{ kind: 'text', text: '', ...signed('c2ln') }]);
  });

  test('on a text with others before and after, that text is a part of its own', async () => {
    const { item } = await answer([
      parts({ text: 'a' }, { text: 'b', thoughtSignature: 's1' }, { text: 'c' }),
      parts({ text: 'd', thoughtSignature: 's2' }),
      stop,
    ]);
    expect(item.parts).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'b', ...signed('s1') },
      { kind: 'text', text: 'c' },
      { kind: 'text', text: 'd', ...signed('s2') },
    ]);
  });

  test('on thoughts it stays there, also where they are empty', async () => {
    const { item } = await answer([
      parts({ text: 'a', thought: true }),
      parts({ text: 'b', thought: true, thoughtSignature: 's1' }),
      parts({ thought: true, thoughtSignature: 's2' }),
      stop,
    ]);
    expect(item.parts).toEqual([
      { kind: 'reasoning', form: 'summary', text: 'a' },
      { kind: 'reasoning', form: 'summary', text: 'b', ...signed('s1') },
      { kind: 'reasoning', form: 'summary', text: '', ...signed('s2') },
    ]);
  });

  test('alone in a part it is on an empty text', async () => {
    const { item } = await answer([parts({ thoughtSignature: 's1' }), stop]);
    expect(item.parts).toEqual([{ kind: 'text', text: '', ...signed('s1') }]);
  });
});

describe('structured output', () => {
  const output = { name: 'tide', schema: { type: 'object' } };

  test('is one value, whatever the pieces', async () => {
    const { item } = await answer([parts({ text: '{"hour"' }), parts({ text: ':6}' }), stop], {
      output,
    });
    expect(item.parts).toEqual([{ kind: 'structured', name: 'tide', value: { hour: 6 } }]);
  });

  test('stays one value where thoughts stand in the middle of it', async () => {
    const thought = { text: 'hm', thought: true };
    const events = [
      parts({ ...thought, text: 'first' }),
      parts({ text: '{"hour"' }),
      parts(thought),
      parts({ text: ':' }),
      parts({ ...thought, thoughtSignature: 's1' }),
      parts({ text: '6}' }),
      parts({ text: '', thoughtSignature: 's2' }),
      stop,
    ];
    const { item } = await answer(events, { output });
    expect(item.parts).toMatchObject([
      { kind: 'reasoning', text: 'first' },
      { kind: 'structured', value: { hour: 6 } },
      { kind: 'reasoning', text: 'hm' },
      { kind: 'reasoning', text: 'hm', ...signed('s1') },
      { kind: 'text', text: '', ...signed('s2') },
    ]);
    expect(item.parts).toHaveLength(5);
  });

  test('is as many parts as there are texts where they are whole, or no JSON', async () => {
    const thought = parts({ text: 'hm', thought: true });
    const kindsOf = async (...texts: readonly string[]) => {
      const events = texts.flatMap((text) => [parts({ text }), thought]);
      const { item } = await answer([...events, stop], { output });
      return item.parts.map(({ kind }) => kind).filter((kind) => kind !== 'reasoning');
    };
    expect(await kindsOf('{"a":1}', '{"a":2}')).toEqual(['structured', 'structured']);
    expect(await kindsOf('Let me see.', 'No.')).toEqual(['text', 'text']);
    expect(await kindsOf('Let me see.', '{"a"', ':1}')).toEqual(['text', 'structured']);
    // Never finished: the content is one text, in one piece.
    expect(await kindsOf('{"a"', ':1')).toEqual(['text']);
  });

  test('stays one value where a piece is signed, and keeps the pieces', async () => {
    const events = [
      parts({ text: '{"hour' }),
      parts({ text: '" : ' }),
      parts({ text: '6', thoughtSignature: 's1' }),
      parts({ text: '}' }),
      parts({ text: '', thoughtSignature: 's2' }),
      stop,
    ];
    const { item } = await answer(events, { output });
    const data = {
      parts: [{ text: '{"hour" : ' }, { text: '6', thoughtSignature: 's1' }, { text: '}' }],
    };
    expect(item.parts).toEqual([
      {
        kind: 'structured',
        name: 'tide',
        value: { hour: 6 },
        providerState: { provider: 'gemini', model, data },
      },
      { kind: 'text', text: '', ...signed('s2') },
    ]);
  });
});

describe('pictures and sound', () => {
  const data = 'iVBORw0KGgo=';
  const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

  test('inlineData is a media part, with its signature', async () => {
    const { item } = await answer([
      parts({ text: 'Look:' }),
      parts({ inlineData: { mimeType: 'image/png', data }, thoughtSignature: 's1' }),
      parts({ inlineData: { mimeType: 'image/png', data } }),
      parts({ inlineData: { mimeType: 'image/png', data } }),
      stop,
    ]);
    const source = { type: 'bytes', bytes };
    expect(item.parts).toEqual([
      { kind: 'text', text: 'Look:' },
      { kind: 'media', mimeType: 'image/png', source, ...signed('s1') },
      { kind: 'media', mimeType: 'image/png', source },
      { kind: 'media', mimeType: 'image/png', source },
    ]);
  });

  test('a picture of the thoughts says so, and goes back as one', async () => {
    const { item } = await answer([
      parts({ inlineData: { mimeType: 'image/png', data }, thought: true }),
      stop,
    ]);
    expect(item.parts[0]).toMatchObject({
      metadata: { thought: true },
      providerState: { data: { thought: true } },
    });
  });

  test('pieces of one sound are one part', async () => {
    const mimeType = 'audio/L16;rate=24000';
    const { item } = await answer([
      parts({ inlineData: { mimeType, data: 'AQI=' } }),
      parts({ inlineData: { mimeType, data: 'AwQ=' } }),
      stop,
    ]);
    const source = { type: 'bytes', bytes: new Uint8Array([1, 2, 3, 4]) };
    expect(item.parts).toEqual([{ kind: 'media', mimeType, source }]);
  });

  test.each(['-_-_AQ', '+/+/AQ=', '-_-_AQ=='])(
    'base64 with any padding and of either alphabet is read: %s',
    async (base64) => {
      const inlineData = { mimeType: 'image/png', data: base64 };
      const { item } = await answer([parts({ inlineData }), stop]);
      const source = { type: 'bytes', bytes: new Uint8Array([0xfb, 0xff, 0xbf, 0x01]) };
      expect(item.parts[0]).toMatchObject({ source });
    },
  );

  test('what is not base64 is a protocol error', async () => {
    const { error } = await answer([
      parts({ inlineData: { mimeType: 'image/png', data: 'no!' } }),
      stop,
    ]);
    expect(error?.kind).toBe('protocol_error');
  });

  test('a picture larger than one append is whole', async () => {
    const large = new Uint8Array(5 * 2 ** 20).fill(7);
    const { item } = await answer([
      parts({ inlineData: { mimeType: 'image/png', data: Buffer.from(large).toString('base64') } }),
      stop,
    ]);
    const [part] = item.parts;
    const source = part?.kind === 'media' ? part.source : undefined;
    expect(source?.type === 'bytes' && source.bytes.length).toBe(large.length);
  });
});

describe('hosted tools and unknown parts', () => {
  test.each([
    ['executableCode', { executableCode: { language: 'PYTHON', code: 'print(6)' } }],
    ['codeExecutionResult', { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '6\n' } }],
    ['toolCall', { toolCall: { toolType: 'GOOGLE_SEARCH_WEB', args: {}, id: 'x' } }],
    ['toolResponse', { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', response: {}, id: 'x' } }],
    ['hologram', { hologram: { frames: 2 } }],
  ])('%s is a custom part as it came, and no call of the client', async (name, part) => {
    const { item, stop: end } = await answer([
      parts({ text: 'a' }),
      parts({ ...part, thoughtSignature: 's1' }),
      parts({ text: 'b' }),
      stop,
    ]);
    expect(item.parts).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'custom', name, value: { ...part, thoughtSignature: 's1' }, ...signed('s1') },
      { kind: 'text', text: 'b' },
    ]);
    expect(end.reason).toBe('stop');
  });

  test('E22: unknown fields of events, candidates and parts are ignored', async () => {
    const { text, error } = await answer([
      { candidates: [{ content: { parts: [{ text: 'Ebb.', mood: 1 }] }, avgLogprobs: -1 }], x: 1 },
      { createTime: '2026-06-01T10:00:00Z' },
      stop,
    ]);
    expect(text).toBe('Ebb.');
    expect(error).toBeUndefined();
  });
});

describe('citations', () => {
  const grounding = (...hosts: readonly string[]) => ({
    groundingMetadata: {
      groundingChunks: hosts.map((host) => ({ web: { uri: `https://${host}/`, title: host } })),
    },
  });
  const citations = (...hosts: readonly string[]) => ({
    citations: hosts.map((host) => ({
      url: `https://${host}/`,
      title: host,
      raw: { web: { uri: `https://${host}/`, title: host } },
    })),
  });

  test('trap: they are cumulative, and each is kept once', async () => {
    const { item } = await answer([
      { candidates: [{ content: { parts: [{ text: 'High' }] }, ...grounding('a.example') }] },
      {
        candidates: [
          { content: { parts: [{ text: ' water' }] }, ...grounding('a.example', 'b.example') },
        ],
      },
      finish('STOP', grounding('a.example', 'b.example')),
    ]);
    const metadata = citations('a.example', 'b.example');
    expect(item.parts).toEqual([{ kind: 'text', text: 'High water', metadata }]);
  });

  test('with the signature in the last event they are on the text before it', async () => {
    const { item } = await answer([
      parts({ text: 'High water' }),
      finish('STOP', {
        content: { parts: [{ text: '', thoughtSignature: 's1' }] },
        ...grounding('a.example'),
      }),
    ]);
    expect(item.parts).toEqual([
      { kind: 'text', text: 'High water', metadata: citations('a.example') },
      { kind: 'text', text: '', ...signed('s1') },
    ]);
  });

  test('before any text they wait for it, and after the last they stand alone', async () => {
    const early = await answer([finish('OTHER', grounding('a.example')), parts({ text: 'x' })]);
    expect(early.item.parts[0]?.metadata).toEqual(citations('a.example'));
    const late = await answer([
      parts({ text: 'x', thoughtSignature: 's1' }),
      finish('STOP', grounding('a.example')),
    ]);
    expect(late.item.parts[1]).toEqual({
      kind: 'custom',
      name: 'groundingMetadata',
      value: citations('a.example'),
    });
  });

  test('documents, places and quoted sources count too', async () => {
    const { item } = await answer([
      parts({ text: 'x' }),
      finish('STOP', {
        groundingMetadata: {
          groundingChunks: [
            { retrievedContext: { uri: 'gs://b/o', title: 'o' } },
            { maps: { uri: 'https://maps.example/1' } },
          ],
        },
        citationMetadata: { citationSources: [{ uri: 'https://q.example/', startIndex: 3 }] },
      }),
    ]);
    const found = item.parts[0]?.metadata?.['citations'];
    expect(found).toMatchObject([
      { url: 'gs://b/o', title: 'o' },
      { url: 'https://maps.example/1' },
      { url: 'https://q.example/', raw: { startIndex: 3 } },
    ]);
  });
});

function end(): JsonObject {
  return { finishReason: 'STOP', index: 0 };
}

describe('sparse events', () => {
  test('trap: content without parts, candidates without content, empty candidates, E21', async () => {
    const { text, stop: reason } = await answer([
      { candidates: [] },
      { candidates: [{ index: 0 }] },
      { candidates: [{ content: { role: 'model' }, index: 0 }] },
      { candidates: [{ content: {}, index: null }] },
      { candidates: 'none' },
      {},
      parts({ text: 'Ebb.' }),
      { candidates: [{ finishReason: 'STOP' }] },
    ]);
    expect(text).toBe('Ebb.');
    expect(reason).toEqual({ reason: 'stop', raw: 'STOP' });
  });

  test('E20: of several candidates the one with index 0 is read, wherever it stands', async () => {
    const candidate = (index: number, text: string) => ({ content: { parts: [{ text }] }, index });
    const { text, stop: reason } = await answer([
      { candidates: [candidate(1, 'wrong'), candidate(0, 'right')] },
      { candidates: [{ ...candidate(1, ' one'), finishReason: 'SAFETY' }] },
      { candidates: [{ ...candidate(0, ' one'), finishReason: 'STOP' }] },
    ]);
    expect(text).toBe('right one');
    expect(reason.reason).toBe('stop');
  });

  test('what answered is in the end', async () => {
    const response = await answer([
      { ...parts({ text: 'x' }), modelVersion: 'gemini-3-pro-preview-11', responseId: 'r1' },
      stop,
    ]);
    expect(response).toMatchObject({ model: 'gemini-3-pro-preview-11', responseId: 'r1' });
  });
});

describe('a body that is no stream', () => {
  const json = { headers: { 'content-type': 'application/json; charset=UTF-8' } };
  const whole = (body: unknown) => {
    const { fetch } = fetchOf([JSON.stringify(body)], json);
    return gemini({ model, apiKey: 'k', fetch }).complete({ items: [question] });
  };

  test('without alt=sse it is one array of events', async () => {
    const { text, stop: end } = await whole([parts({ text: 'At' }), parts({ text: ' six' }), stop]);
    expect(text).toBe('At six');
    expect(end.reason).toBe('stop');
  });

  test('a single response is read as well', async () => {
    const { text } = await whole({
      candidates: [{ content: { parts: [{ text: 'x' }] }, ...end() }],
    });
    expect(text).toBe('x');
  });

  test('an error anywhere in the array is the end', async () => {
    const failure = { error: { code: 503, message: 'later', status: 'UNAVAILABLE' } };
    const { error } = await whole([parts({ text: 'At' }), failure]);
    expect(error?.kind).toBe('overloaded');
  });

  test.each([[[]], [{}], [[1]]])('%j is no success', async (body) => {
    const { error } = await whole(body);
    expect(['truncated_stream', 'protocol_error']).toContain(error?.kind);
  });
});
