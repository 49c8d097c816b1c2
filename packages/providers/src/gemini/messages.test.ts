import {
  countingIds,
  type Item,
  type ItemKind,
  itemId,
  type JsonObject,
  type Part,
  type Source,
  type ToolResultPart,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { gemini, vertex } from './provider.ts';

const model = 'gemini-3-pro-preview';
const done = { candidates: [{ finishReason: 'STOP' }] };

let count = 0;
function item(kind: ItemKind, ...parts: readonly Part[]): Item {
  return { id: itemId(`i${++count}`), kind, parts };
}

const text = (said: string): Part => ({ kind: 'text', text: said });
const user = (said: string): Item => item('user', text(said));
const call = (id: string, name: string): Part => toolCallPart(toolCallId(id), name, { a: 1 });
const result = (id: string, more: Partial<ToolResultPart> = {}): ToolResultPart => ({
  kind: 'tool_result',
  toolCallId: toolCallId(id),
  name: 'get_tide',
  text: 'six',
  isError: false,
  ...more,
});

type Made = (options: {
  readonly model: string;
  readonly fetch: typeof fetch;
}) => ReturnType<typeof gemini>;
const asGemini: Made = (options) => gemini({ ...options, apiKey: 'k' });
const asVertex: Made = (options) =>
  vertex({ ...options, project: 'p', location: 'global', accessToken: 't' });

/** The request body for these items. */
async function bodyOf(items: readonly Item[], made = asGemini, id = model): Promise<JsonObject> {
  const { fetch, requests } = fetchOf([sseOf([done])]);
  const { error } = await made({ model: id, fetch }).complete({ items });
  expect(error).toBeUndefined();
  return requests[0]?.body as JsonObject;
}

async function contentsOf(items: readonly Item[], made = asGemini, id = model) {
  const { contents } = await bodyOf(items, made, id);
  return contents as readonly { readonly role: string; readonly parts: readonly JsonObject[] }[];
}

/** Reads the parts as an answer, and returns the model content of the next request. */
async function replayed(parts: readonly JsonObject[], made = asGemini, again = model) {
  const { fetch } = fetchOf([sseOf([{ candidates: [{ content: { parts } }] }, done])]);
  const answer = await made({ model, fetch }).complete(
    { items: [user('?')] },
    { ids: countingIds() },
  );
  const contents = await contentsOf([user('?'), answer.item], made, again);
  return contents.find(({ role }) => role === 'model')?.parts;
}

describe('contents', () => {
  test('alternate: neighbours of one role are merged', async () => {
    const contents = await contentsOf([
      user('a'),
      user('b'),
      item('assistant', text('c')),
      item('assistant', text('d')),
      item('context', text('e')),
    ]);
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
      { role: 'user', parts: [{ text: 'e' }] },
    ]);
  });

  test('the first instructions are systemInstruction, later ones stay in their place', async () => {
    const body = await bodyOf([
      item('system', text('Be brief.')),
      item('developer', text('Be exact.')),
      user('a'),
      item('assistant', text('b')),
      item('system', text('Be kind.')),
      user('c'),
    ]);
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be exact.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ text: 'b' }] },
        { role: 'user', parts: [{ text: 'Be kind.' }, { text: 'c' }] },
      ],
    });
  });

  test('a history that starts with the model gets a user before it', async () => {
    const contents = await contentsOf([item('assistant', text('Hello.')), user('a')]);
    expect(contents.map(({ role }) => role)).toEqual(['user', 'model', 'user']);
  });

  test('nothing to answer is an invalid request, which is not sent', async () => {
    const { fetch, requests } = fetchOf([sseOf([done])]);
    const items = [item('system', text('Be brief.'))];
    const { error } = await gemini({ model, apiKey: 'k', fetch }).complete({ items });
    expect(error?.kind).toBe('invalid_request');
    expect(requests).toEqual([]);
  });

  test('pictures and documents are data or addresses', async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const [content] = await contentsOf([
      item(
        'user',
        { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes } },
        {
          kind: 'media',
          mimeType: 'video/mp4',
          source: { type: 'url', url: 'https://v.example/' },
        },
        {
          kind: 'file',
          name: 'a.pdf',
          mimeType: 'application/pdf',
          source: { type: 'url', url: 'data:application/pdf;base64,AQID' },
        },
        { kind: 'structured', value: { hour: 6 } },
      ),
    ]);
    expect(content?.parts).toEqual([
      { inlineData: { mimeType: 'image/png', data: 'AQID' } },
      { fileData: { mimeType: 'video/mp4', fileUri: 'https://v.example/' } },
      { inlineData: { mimeType: 'application/pdf', data: 'AQID' } },
      { text: '{"hour":6}' },
    ]);
  });

  test('what leaves nothing to send leaves no content either', async () => {
    const providerState = { provider: 'gemini', model, data: {} };
    const odd: Part = { kind: 'custom', name: 'odd', value: 'not a part', providerState };
    const contents = await contentsOf([user('a'), item('assistant', odd), user('b')]);
    expect(contents).toEqual([{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }]);
  });

  test('E28: half a surrogate pair is not sent', async () => {
    const contents = await contentsOf([user('a\ud83d')]);
    expect(contents[0]?.parts).toEqual([{ text: 'a\ufffd' }]);
  });

  test('E28: nor is it in arguments, tool results or unsigned code', async () => {
    const half = { a: ['x\ud83d'], '\ude00': 1 };
    const called = toolCallPart(toolCallId('c1'), 'get_tide', half);
    const code = { executableCode: { language: 'PYTHON', code: 'a\ud83d' } };
    const hosted = (value: JsonObject, data: JsonObject): Part => ({
      kind: 'custom',
      name: 'executableCode',
      value,
      providerState: { provider: 'gemini', model, data },
    });
    const signed = { ...code, thoughtSignature: 's1' };
    const contents = await contentsOf([
      user('?'),
      item('assistant', hosted(code, {}), hosted(signed, { thoughtSignature: 's1' }), called),
      item('tool', result('c1', { text: 'b\ud83d' })),
    ]);
    expect(contents[1]?.parts).toMatchObject([
      { executableCode: { code: 'a\ufffd' } },
      // Signed content never changes.
      signed,
      { functionCall: { args: { a: ['x\ufffd'], '\ufffd': 1 } } },
    ]);
    expect(contents[2]?.parts).toMatchObject([
      { functionResponse: { response: { output: 'b\ufffd' } } },
    ]);
  });
});

describe('calls and results', () => {
  const history = (...results: readonly ToolResultPart[]) => [
    user('?'),
    item('assistant', call('c1', 'get_tide'), call('c2', 'get_wind')),
    item('tool', ...results),
  ];

  test('results follow the calls at once, in their order, as output or error', async () => {
    const contents = await contentsOf([
      ...history(result('c2', { text: 'no wind', isError: true }), result('c1')),
      user('and now?'),
    ]);
    expect(contents[2]).toEqual({
      role: 'user',
      parts: [
        { functionResponse: { name: 'get_tide', response: { output: 'six' }, id: 'c1' } },
        { functionResponse: { name: 'get_wind', response: { error: 'no wind' }, id: 'c2' } },
        { text: 'and now?' },
      ],
    });
  });

  test('a call without a result gets one', async () => {
    const contents = await contentsOf(history(result('c1')));
    const responses = contents[2]?.parts.map(({ functionResponse }) => functionResponse);
    expect(responses).toMatchObject([
      { id: 'c1' },
      { id: 'c2', response: { error: expect.stringContaining('No result') } },
    ]);
  });

  test('Vertex is sent no ids that are not its own', async () => {
    const body = JSON.stringify(await bodyOf(history(result('c1')), asVertex));
    expect(body).not.toContain('"id"');
  });

  test('Vertex is sent its own ids on call and result', async () => {
    const functionCall = { name: 'get_tide', args: {}, id: 'v1' };
    const events = sseOf([{ candidates: [{ content: { parts: [{ functionCall }] } }] }, done]);
    const { fetch } = fetchOf([events]);
    const answer = await asVertex({ model, fetch }).complete({ items: [user('?')] });
    const items = [user('?'), answer.item, item('tool', result('v1'))];
    const contents = await contentsOf(items, asVertex);
    expect(contents[1]?.parts[0]).toMatchObject({ functionCall });
    expect(contents[2]?.parts[0]).toMatchObject({ functionResponse: { id: 'v1' } });
  });

  const bytes = new Uint8Array([1, 2, 3]);
  const picture = {
    kind: 'media',
    mimeType: 'image/png',
    source: { type: 'bytes', bytes },
  } as const;
  const inlineData = { mimeType: 'image/png', data: 'AQID' };

  test('Gemini 3 has the pictures of a result inside it', async () => {
    const contents = await contentsOf(history(result('c1', { attachments: [picture] })));
    expect(contents[2]?.parts[0]).toMatchObject({ functionResponse: { parts: [{ inlineData }] } });
  });

  test('before it, and for what cannot be inside, they follow all results', async () => {
    const older = await contentsOf(
      history(result('c1', { attachments: [picture] }), result('c2')),
      asGemini,
      'gemini-2.5-flash',
    );
    expect(older[2]?.parts.map((part) => Object.keys(part)[0])).toEqual([
      'functionResponse',
      'functionResponse',
      'inlineData',
    ]);
    expect(JSON.stringify(older[2])).not.toContain('"parts":[{"inlineData"');
    const url = { type: 'url', url: 'https://p.example/' } as const;
    const attachments = [
      { ...picture, source: url },
      { ...picture, mimeType: 'audio/wav' },
    ];
    const newer = await contentsOf(history(result('c1', { attachments }), result('c2')));
    expect(newer[2]?.parts.slice(2)).toEqual([
      { fileData: { mimeType: 'image/png', fileUri: 'https://p.example/' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AQID' } },
    ]);
  });
});

describe('what cannot be shown', () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const zip = {
    kind: 'media',
    mimeType: 'application/zip',
    source: { type: 'bytes', bytes },
  } as const;
  const gif = { ...zip, mimeType: 'image/gif' };
  const blob = {
    ...zip,
    mimeType: 'image/png',
    source: { type: 'blob', hash: 'h', length: 3 },
  } as const;

  test.each([
    ['Gemini', asGemini, model],
    ['Vertex', asVertex, model],
    ['Gemini 2', asGemini, 'gemini-2.5-flash'],
  ] as const)(
    'of what a tool or a model made never makes a request invalid: %s',
    async (_, made, id) => {
      const contents = await contentsOf(
        [
          user('?'),
          item('assistant', text('Here:'), gif, blob, call('c1', 'get_tide')),
          item('tool', result('c1', { attachments: [zip, blob] })),
        ],
        made,
        id,
      );
      expect(contents[1]?.parts.slice(0, 2)).toEqual([
        { text: 'Here:' },
        { text: '[An attachment cannot be shown: image/gif]' },
      ]);
      expect(contents[2]?.parts.at(-1)).toEqual({
        text: '[An attachment cannot be shown: application/zip]',
      });
      expect(JSON.stringify(contents)).not.toContain('inlineData');
    },
  );

  test('of what the user gave is named as well, and refused where it is not loaded', async () => {
    const [said] = await contentsOf([item('user', zip, gif)]);
    expect(said?.parts).toEqual([
      { text: '[An attachment cannot be shown: application/zip]' },
      { text: '[An attachment cannot be shown: image/gif]' },
    ]);
    const { fetch } = fetchOf([]);
    const { error } = await asGemini({ model, fetch }).complete({ items: [item('user', blob)] });
    expect(error?.kind).toBe('invalid_request');
  });

  test('but is text is sent as text, because the API takes few types of files', async () => {
    const file = (name: string, mimeType: string, source: Source): Part => ({
      kind: 'file',
      name,
      mimeType,
      source,
    });
    const [said] = await contentsOf([
      item(
        'user',
        file('a.json', 'application/json', { type: 'bytes', bytes: new TextEncoder().encode('1') }),
        file('b.rs', 'text/x-rust', { type: 'url', url: 'gs://bucket/b.rs' }),
      ),
    ]);
    expect(said?.parts).toEqual([
      { text: '<file name="a.json" type="application/json">\n1\n</file>' },
      { fileData: { mimeType: 'text/plain', fileUri: 'gs://bucket/b.rs' } },
    ]);
  });

  test('of what the model signed goes back as it came', async () => {
    const providerState = { provider: 'gemini', model, data: { thoughtSignature: 's1' } };
    const contents = await contentsOf([
      user('?'),
      item('assistant', { ...gif, providerState }),
      user('!'),
    ]);
    expect(contents[1]?.parts).toEqual([
      { inlineData: { mimeType: 'image/gif', data: 'AQID' }, thoughtSignature: 's1' },
    ]);
  });
});

describe('what goes back', () => {
  const signedParts = [
    { text: 'thinking', thought: true, thoughtSignature: 's1' },
    { text: 'Let me see.' },
    { text: 'Yes.', thoughtSignature: 's2' },
    { text: 'So:' },
    { executableCode: { language: 'PYTHON', code: 'print(6)' }, thoughtSignature: 's3' },
    { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '6' } },
    { inlineData: { mimeType: 'image/png', data: 'AQID' }, thought: true, thoughtSignature: 's4' },
    { functionCall: { name: 'get_tide', args: { a: 1 }, id: 'x1' }, thoughtSignature: 's5' },
    { functionCall: { name: 'get_wind', args: {}, id: 'x2' } },
    { text: '', thoughtSignature: 's6' },
  ];

  test('trap: each signature on the same part, unmoved and unmerged', async () => {
    expect(await replayed(signedParts)).toEqual(signedParts);
  });

  test('the same to the same model at Vertex', async () => {
    expect(await replayed(signedParts, asVertex)).toEqual(signedParts);
  });

  test('nothing of it goes to another model, but the received text does', async () => {
    const sent = await replayed(signedParts, asGemini, 'gemini-2.5-flash');
    expect(sent).toEqual([
      { text: 'Let me see.' },
      { text: 'Yes.' },
      { text: 'So:' },
      { inlineData: { mimeType: 'image/png', data: 'AQID' } },
      { functionCall: { name: 'get_tide', args: { a: 1 }, id: 'x1' } },
      { functionCall: { name: 'get_wind', args: {}, id: 'x2' } },
    ]);
  });

  test('signed pieces of a structured answer go back byte for byte', async () => {
    const pieces = [{ text: '{ "hour" : ' }, { text: '6 }', thoughtSignature: 's1' }];
    const events = sseOf([{ candidates: [{ content: { parts: pieces } }] }, done]);
    const { fetch } = fetchOf([events]);
    const output = { name: 'tide', schema: {} };
    const answer = await asGemini({ model, fetch }).complete({ items: [user('?')], output });
    expect(answer.item.parts).toMatchObject([{ kind: 'structured', value: { hour: 6 } }]);
    const [, said] = await contentsOf([user('?'), answer.item]);
    expect(said?.parts).toEqual(pieces);
  });

  test('an answer that was cut off goes back without its signature', async () => {
    const { fetch } = fetchOf([
      sseOf([{ candidates: [{ content: { parts: [{ text: 'At s' }] } }] }]),
    ]);
    const cut = await asGemini({ model, fetch }).complete({ items: [user('?')] });
    const contents = await contentsOf([user('?'), cut.item]);
    expect(contents[1]?.parts).toEqual([{ text: 'At s' }]);
  });
});

describe('Gemini 3 and a history of another model', () => {
  const foreign = (provider: string): Part => ({
    ...toolCallPart(toolCallId('c1'), 'get_tide', { a: 1 }),
    providerState: { provider, model: 'other', data: { thoughtSignature: 'theirs' } },
  });
  const items = (provider: string) => [
    user('?'),
    item('assistant', text('Let me see.'), foreign(provider), call('c2', 'get_wind')),
    item('tool', result('c1'), result('c2')),
    item('assistant', call('c3', 'get_tide')),
    item('tool', result('c3')),
  ];
  const signaturesIn = async (made: Made, id: string) =>
    (await contentsOf(items('gemini'), made, id)).flatMap(({ parts }) =>
      parts.filter((part) => 'functionCall' in part).map((part) => part['thoughtSignature']),
    );

  test('the first of parallel calls is marked as unsigned', async () => {
    const skip = 'skip_thought_signature_validator';
    expect(await signaturesIn(asGemini, model)).toEqual([skip, undefined, skip]);
    expect(await signaturesIn(asVertex, 'gemini-3.1-flash-lite')).toEqual([skip, undefined, skip]);
  });

  test('earlier models get no such mark', async () => {
    expect(await signaturesIn(asGemini, 'gemini-2.5-pro')).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('a call that is signed keeps its signature', async () => {
    const functionCall = { name: 'get_tide', args: {}, id: 'x' };
    const parts = [{ functionCall, thoughtSignature: 'mine' }];
    expect(await replayed(parts)).toEqual(parts);
  });
});
