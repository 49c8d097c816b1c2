import { countingIds, type Delta, type JsonObject, type Part } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import type { ResponsesOptions } from './options.ts';
import { openaiResponses } from './provider.ts';

const emptyRequest: ModelRequest = { items: [] };

interface ReadAnswer extends Completion {
  readonly deltas: readonly Delta[];
}

async function read(
  chunks: readonly (string | Uint8Array)[],
  request: ModelRequest = emptyRequest,
  options: Partial<ResponsesOptions> = {},
): Promise<ReadAnswer> {
  const { fetch } = fetchOf(chunks);
  const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'key', fetch, ...options });
  const deltas: Delta[] = [];
  const completion = await provider.complete(request, {
    ids: countingIds(),
    onStep: (step) => deltas.push(...step.deltas),
  });
  return { ...completion, deltas };
}

const readAnswer = (events: readonly object[], request?: ModelRequest): Promise<ReadAnswer> =>
  read([sseOf(events)], request);

const created = { type: 'response.created', response: { id: 'resp_1', model: 'gpt-5.1-x' } };
const added = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const completed = (output: readonly object[] = [], more: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output, ...more },
});
const text = (output_index: number, delta: string, content_index = 0) => ({
  type: 'response.output_text.delta',
  output_index,
  content_index,
  delta,
});
const argumentsDelta = (output_index: number, delta: string) => ({
  type: 'response.function_call_arguments.delta',
  output_index,
  delta,
});
const summary = (output_index: number, summary_index: number, delta: string) => ({
  type: 'response.reasoning_summary_text.delta',
  output_index,
  summary_index,
  delta,
});
const message = (said: string, more: object = {}) => ({
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', annotations: [], text: said }],
  ...more,
});
const call = (args: string, more: object = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'get_tide',
  arguments: args,
  status: 'completed',
  ...more,
});
const callStart = (more: object = {}) => call('', { status: 'in_progress', ...more });

const brest = '{"port":"Brest"}';
const state = (data: JsonObject) => ({ provider: 'openai-responses', model: 'gpt-5.1', data });

const callsIn = (parts: readonly Part[]) =>
  parts.flatMap((part) => (part.kind === 'tool_call' ? part : []));
const isRetracted = (deltas: readonly Delta[]) =>
  deltas.some(({ type }) => type === 'retract_part');
const isCall = (delta: Delta) => delta.type === 'begin_part' && delta.kind === 'tool_call';

describe('text', () => {
  test('streams delta by delta, and keeps the id of its message', async () => {
    const answer = await readAnswer([
      created,
      added(0, message('', { content: [] })),
      text(0, 'The tide'),
      text(0, ' is out.'),
      done(0, message('The tide is out.')),
      completed([message('The tide is out.')]),
    ]);
    expect(answer.item.parts).toEqual([
      {
        kind: 'text',
        text: 'The tide is out.',
        providerState: state({ type: 'message', id: 'msg_1' }),
      },
    ]);
    expect(answer.stop).toEqual({ reason: 'stop', raw: 'completed' });
    expect(answer.deltas.filter(({ type }) => type === 'append_text')).toHaveLength(2);
    expect([answer.model, answer.responseId]).toEqual(['gpt-5.1-x', 'resp_1']);
  });

  test('fact: a message has a phase, commentary or final answer', async () => {
    const answer = await readAnswer([
      text(0, 'Let me see.'),
      done(0, message('Let me see.', { phase: 'commentary' })),
      text(1, 'Six.'),
      done(1, message('Six.', { id: 'msg_2', phase: 'final_answer' })),
      completed(),
    ]);
    expect(answer.item.parts.map(({ providerState }) => providerState?.data)).toEqual([
      { type: 'message', id: 'msg_1', phase: 'commentary' },
      { type: 'message', id: 'msg_2', phase: 'final_answer' },
    ]);
  });

  test('of two content indexes is two parts', async () => {
    const answer = await readAnswer([text(0, 'a'), text(0, 'b', 1), text(0, 'A'), completed()]);
    expect(answer.item.parts).toMatchObject([{ text: 'aA' }, { text: 'b' }]);
  });

  test('fact: annotations are citations, each once', async () => {
    const cite = (url: string) => ({
      type: 'response.output_text.annotation.added',
      output_index: 0,
      content_index: 0,
      annotation: { type: 'url_citation', url, title: 'T', start_index: 0 },
    });
    const events = [text(0, 'Six.'), cite('https://a.example'), cite('https://a.example')];
    const { item } = await readAnswer([...events, completed()]);
    const raw = { type: 'url_citation', url: 'https://a.example', title: 'T', start_index: 0 };
    const known = { url: 'https://a.example', title: 'T', raw };
    expect(item.parts[0]?.metadata).toEqual({ citations: [known] });
  });

  test('that is cited before it comes, or twice, is cited once', async () => {
    const annotation = { type: 'url_citation', url: 'https://a.example' };
    const cite = { type: 'response.output_text.annotation.added', output_index: 0, annotation };
    const content = [{ type: 'output_text', text: 'Six.', annotations: [annotation] }];
    const ends = [done(0, message('', { content })), completed([message('', { content })])];
    const { item, deltas } = await readAnswer([cite, text(0, 'Six.'), cite, ...ends]);
    const known = { url: 'https://a.example', raw: annotation };
    expect(item.parts).toMatchObject([{ text: 'Six.', metadata: { citations: [known] } }]);
    expect(deltas.filter(({ type }) => type === 'set_metadata')).toHaveLength(1);
    const early = await readAnswer([cite, text(0, 'Six.'), completed()]);
    expect(early.item.parts).toMatchObject([{ metadata: { citations: [known] } }]);
  });

  test('gets the citations that only the end of its item names', async () => {
    const raw = { type: 'file_citation', file_id: 'file_1', filename: 'tides.pdf' };
    const content = [{ type: 'output_text', text: 'Six.', annotations: [raw] }];
    const { item } = await readAnswer([
      text(0, 'Six.'),
      done(0, message('', { content })),
      completed(),
    ]);
    expect(item.parts[0]?.metadata).toEqual({ citations: [{ title: 'tides.pdf', raw }] });
  });

  test('that was asked for by a schema ends as a structured part', async () => {
    const output = { name: 'tide', schema: { type: 'object' } };
    const events = [text(0, '{"hour"'), text(0, ':6}'), done(0, message('{"hour":6}'))];
    const { item } = await readAnswer([...events, completed()], { items: [], output });
    expect(item.parts).toMatchObject([{ kind: 'structured', name: 'tide', value: { hour: 6 } }]);
  });

  test('that is empty is no part', async () => {
    const { item } = await readAnswer([added(0, message('')), done(0, message('')), completed()]);
    expect(item.parts).toEqual([]);
  });

  test('fact: a refusal is a text that says so, and the reason to stop', async () => {
    const refusal = { type: 'response.refusal.delta', output_index: 0, content_index: 0 };
    const content = [{ type: 'refusal', refusal: 'I cannot.' }];
    const answer = await readAnswer([
      text(0, ''),
      { ...refusal, delta: 'I can' },
      { ...refusal, delta: 'not.' },
      { ...refusal, type: 'response.refusal.done', refusal: 'I cannot.' },
      done(0, message('', { content })),
      completed([message('', { content })]),
    ]);
    expect(answer.item.parts).toMatchObject([
      { kind: 'text', text: 'I cannot.', metadata: { refusal: true } },
    ]);
    expect(answer.stop).toEqual({ reason: 'refusal', raw: 'completed' });
  });
});

describe('tool calls', () => {
  test('fact: the public id is the call id, and the id of the item goes into the state', async () => {
    const answer = await readAnswer([
      added(0, callStart()),
      argumentsDelta(0, '{"port"'),
      argumentsDelta(0, ':"Brest"}'),
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: brest },
      done(0, call(brest)),
      completed([call(brest)]),
    ]);
    expect(answer.item.parts).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'call_1',
        name: 'get_tide',
        arguments: brest,
        input: { port: 'Brest' },
        providerState: state({ type: 'function_call', id: 'fc_1' }),
      },
    ]);
    expect(answer.stop).toEqual({ reason: 'tool_use', raw: 'completed' });
  });

  test('that is announced is begun at once, before its arguments come', async () => {
    const answer = await readAnswer([added(0, callStart())]);
    expect(answer.deltas.some(isCall)).toBe(true);
  });

  test('keep what else the provider has in the item, for instance who called', async () => {
    const caller = { type: 'program', caller_id: 'call_p' };
    const { item } = await readAnswer([done(0, call(brest, { caller })), completed()]);
    expect(item.parts[0]?.providerState?.data).toEqual({
      type: 'function_call',
      id: 'fc_1',
      caller,
    });
  });

  test('may say in_progress in the end: only incomplete ones are not whole', async () => {
    const { stop } = await readAnswer([
      done(0, call(brest, { status: 'in_progress' })),
      completed(),
    ]);
    expect(stop.reason).toBe('tool_use');
  });

  test('fact: the input of a custom tool is plain text, and JSON by the end', async () => {
    const custom = (input: string) => ({
      type: 'custom_tool_call',
      id: 'ctc_1',
      call_id: 'call_1',
      name: 'sql',
      input,
    });
    const piece = { type: 'response.custom_tool_call_input.delta', output_index: 0 };
    const input = 'SELECT "a"\n\\ FROM 🐟';
    const events = [
      added(0, custom('')),
      { ...piece, delta: 'SELECT "a"\n' },
      { ...piece, delta: '\\ FROM \ud83d' },
      { ...piece, delta: '\udc1f' },
      done(0, custom(input)),
      completed([custom(input)]),
    ];
    const { item, stop } = await readAnswer(events);
    expect(item.parts).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'call_1',
        name: 'sql',
        arguments: JSON.stringify({ input }),
        input: { input },
        providerState: state({ type: 'custom_tool_call', id: 'ctc_1' }),
      },
    ]);
    expect(stop.reason).toBe('tool_use');
  });

  test('of custom tools have valid JSON for any text, split anywhere', async () => {
    const piece = { type: 'response.custom_tool_call_input.delta', output_index: 0 };
    const item = { type: 'custom_tool_call', call_id: 'c', name: 'sql' };
    const strings = fc.array(fc.string({ unit: 'binary' }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(strings, fc.nat(), async (pieces, seed) => {
        const whole = pieces.join('');
        const at = whole.length === 0 ? 0 : seed % whole.length;
        const split = [whole.slice(0, at), whole.slice(at)];
        const answer = await readAnswer([
          added(0, item),
          ...split.map((delta) => ({ ...piece, delta })),
          done(0, { ...item, input: '' }),
          completed(),
        ]);
        expect(callsIn(answer.item.parts)[0]?.input).toEqual({ input: whole.toWellFormed() });
      }),
      { numRuns: runs(200) },
    );
  });

  test('fact: custom input that contradicts its end is replaced, as JSON', async () => {
    const item = { type: 'custom_tool_call', call_id: 'c', name: 'sql' };
    const piece = { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: 'ab' };
    const answer = await readAnswer([
      added(0, item),
      piece,
      done(0, { ...item, input: 'x"y' }),
      completed(),
    ]);
    expect(callsIn(answer.item.parts)).toMatchObject([{ input: { input: 'x"y' } }]);
  });

  test('without a usable id, or with that of another call, get a new one', async () => {
    const { item } = await readAnswer([
      done(0, call(brest, { call_id: '' })),
      done(1, call(brest, { id: 'fc_2', call_id: 'a\nb' })),
      done(2, call(brest, { id: 'fc_3', call_id: 'x'.repeat(2000) })),
      done(3, call(brest, { id: 'fc_4', call_id: 'call_9' })),
      done(4, call(brest, { id: 'fc_5', call_id: 'call_9' })),
      done(5, call(brest, { id: 'fc_6', call_id: '🐟'.repeat(1000) })),
      done(6, call('{"tool_uses":[{"recipient_name":"a"}]}', { name: 'parallel', call_id: null })),
      completed(),
    ]);
    expect(callsIn(item.parts).map(({ toolCallId }) => toolCallId)).toEqual([
      'call1',
      'call2',
      'call3',
      'call_9',
      'call4',
      'call5',
      'call6',
    ]);
  });

  test('keep what their start said and their end says empty', async () => {
    const nothing = { name: '', call_id: null, id: '' };
    const { item } = await readAnswer([
      added(0, callStart()),
      done(0, call(brest, nothing)),
      completed(),
    ]);
    expect(item.parts).toMatchObject([
      { name: 'get_tide', toolCallId: 'call_1', providerState: { data: { id: 'fc_1' } } },
    ]);
  });

  test('without a name are an error', async () => {
    const { error, item } = await readAnswer([done(0, call(brest, { name: '' })), completed()]);
    expect(error).toMatchObject({ code: 'protocol_error' });
    expect(error?.message).toContain('a tool call has no name');
    expect(item.parts).toEqual([]);
  });

  test('whose name and id come only in the end keep the arguments that came before', async () => {
    const answer = await readAnswer([
      argumentsDelta(0, '{"port":'),
      done(0, call(brest)),
      completed(),
    ]);
    expect(callsIn(answer.item.parts)).toMatchObject([{ name: 'get_tide', arguments: brest }]);
  });
});

describe('reasoning', () => {
  const sealed = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [
      { type: 'summary_text', text: 'First.' },
      { type: 'summary_text', text: 'Second.' },
    ],
    encrypted_content: 'sealed-by-done',
    content: null,
  };

  test('fact: each summary is a part, and the first has the whole item as the end says it', async () => {
    const answer = await readAnswer([
      added(0, { ...sealed, summary: [], encrypted_content: 'early' }),
      summary(0, 0, 'First.'),
      summary(0, 1, 'Second.'),
      done(0, sealed),
      completed([sealed]),
    ]);
    expect(answer.item.parts).toEqual([
      { kind: 'reasoning', form: 'summary', text: 'First.', providerState: state(sealed) },
      { kind: 'reasoning', form: 'summary', text: 'Second.' },
    ]);
  });

  test('stays open until its item ends, so that the state can be with the first part', async () => {
    const { deltas } = await readAnswer([
      summary(0, 0, 'First.'),
      {
        type: 'response.reasoning_summary_text.done',
        output_index: 0,
        summary_index: 0,
        text: 'First.',
      },
      summary(0, 1, 'Second.'),
    ]);
    const ends = deltas.filter(({ type }) => type === 'commit_part');
    // The stream was cut off: both parts are partial and have no state.
    expect(ends).toEqual(ends.map((end) => ({ ...end, partial: true })));
    expect(ends).toHaveLength(2);
  });

  test('fact: open models reason in full, inside content parts', async () => {
    const piece = { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0 };
    const content = [{ type: 'reasoning_text', text: 'Hmm, so.' }];
    const item = { type: 'reasoning', id: 'rs_1', summary: [], content };
    const answer = await readAnswer([
      added(0, { ...item, content: [] }),
      { ...piece, delta: 'Hmm' },
      { ...piece, delta: ', so.' },
      { ...piece, type: 'response.content_part.done', part: content[0] },
      done(0, item),
      completed([item]),
    ]);
    expect(answer.item.parts).toEqual([
      { kind: 'reasoning', form: 'full', text: 'Hmm, so.', providerState: state(item) },
    ]);
  });

  test('that shows nothing is a part all the same, because it has to go back', async () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
    const answer = await readAnswer([added(0, item), done(0, item), completed([item])]);
    expect(answer.item.parts).toEqual([
      { kind: 'reasoning', form: 'redacted', text: '', providerState: state(item) },
    ]);
  });

  test('trap: encrypted content differs in added and done; done counts', async () => {
    const early = { ...sealed, summary: [], encrypted_content: 'early' };
    const late = { ...sealed, encrypted_content: 'sealed-again' };
    const answer = await readAnswer([added(0, early), done(0, sealed), completed([late])]);
    expect(answer.item.parts[0]?.providerState?.data).toMatchObject({
      encrypted_content: 'sealed-by-done',
    });
    // The final output differs in each response. That alone is no reason to write the items again.
    expect(isRetracted(answer.deltas)).toBe(false);
  });

  test('trap: encrypted content that only the final output has is the one that goes back', async () => {
    const { encrypted_content: _sealed, ...open } = sealed;
    const answer = await readAnswer([done(0, open), done(1, message('Six.')), completed([sealed])]);
    const states = answer.item.parts.map(({ providerState }) => providerState?.data);
    expect(states).toContainEqual(sealed);
    expect(states).not.toContainEqual(open);
  });

  test('is remembered by what came out of it', async () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
    const { item: answer } = await readAnswer([
      done(0, item),
      done(1, call(brest)),
      done(2, call(brest, { id: 'fc_2', call_id: 'call_2' })),
      completed(),
    ]);
    expect(callsIn(answer.parts).map(({ providerState }) => providerState?.data)).toMatchObject([
      { id: 'fc_1', origin: { reasoning: 'rs_1', isNext: true } },
      { id: 'fc_2', origin: { reasoning: 'rs_1', isNext: false } },
    ]);
  });
});

describe('hosted tools', () => {
  const search = {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { query: 'q' },
  };

  test('are custom parts with the whole item of its end, and no calls of ours', async () => {
    const answer = await readAnswer([
      added(0, { type: 'web_search_call', id: 'ws_1', status: 'in_progress' }),
      { type: 'response.web_search_call.searching', output_index: 0 },
      done(0, search),
      completed([search]),
    ]);
    expect(answer.item.parts).toEqual([
      {
        kind: 'custom',
        name: 'web_search_call',
        value: search,
        providerState: state({ type: 'web_search_call', id: 'ws_1' }),
      },
    ]);
    expect(answer.stop.reason).toBe('stop');
  });

  test('show how far they are', async () => {
    const { deltas } = await readAnswer([
      added(0, { type: 'web_search_call', status: 'in_progress' }),
      { type: 'response.web_search_call.searching', output_index: 0 },
    ]);
    const values = deltas.flatMap((delta) =>
      delta.type === 'replace_structured' ? delta.value : [],
    );
    expect(values).toMatchObject([{ status: 'in_progress' }, { status: 'searching' }]);
  });

  test.each([
    'file_search_call',
    'code_interpreter_call',
    'mcp_call',
    'mcp_list_tools',
    'tool_search_call',
    'program',
    'compaction',
    'something_new',
  ])('of type %s are kept', async (type) => {
    const item = { type, id: 'x_1', encrypted_content: 'sealed', arguments: '{}' };
    const streamed = await readAnswer([
      added(0, { type, id: 'x_1' }),
      { type: `response.${type}_code.delta`, output_index: 0, delta: 'x' },
      done(0, item),
      completed([item]),
    ]);
    expect(streamed.item.parts).toMatchObject([{ kind: 'custom', name: type, value: item }]);
    const late = await readAnswer([completed([item])]);
    expect(late.item.parts).toEqual(streamed.item.parts);
  });

  test('fact: pictures are sketched, and their bytes are a part of their own', async () => {
    const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed' };
    const result = { ...item, output_format: 'webp', result: 'AQID' };
    const sketch = (partial_image_b64: string) => ({
      type: 'response.image_generation_call.partial_image',
      output_index: 0,
      partial_image_b64,
      output_format: 'webp',
    });
    const answer = await readAnswer([
      added(0, { ...item, status: 'in_progress' }),
      sketch('AQ'),
      sketch('AQI='),
      done(0, result),
      completed([result]),
    ]);
    expect(answer.item.parts).toEqual([
      {
        kind: 'custom',
        name: 'image_generation_call',
        value: { ...item, output_format: 'webp' },
        providerState: state({ type: 'image_generation_call', id: 'ig_1' }),
      },
      {
        kind: 'media',
        mimeType: 'image/webp',
        source: { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
        providerState: state({ type: 'image_generation_call', id: 'ig_1' }),
      },
    ]);
    const cut = await readAnswer([added(0, item), sketch('AQ'), sketch('AQI=')]);
    const bytes = Uint8Array.of(1, 2);
    expect(cut.item.parts).toEqual([
      { kind: 'media', mimeType: 'image/webp', source: { type: 'bytes', bytes }, partial: true },
    ]);
  });

  test('have pictures of any size that the limits allow, and write their bytes once', async () => {
    const result = 'A'.repeat(9 * 2 ** 20);
    const item = { type: 'image_generation_call', id: 'ig_1', result };
    const answer = await readAnswer([added(0, item), done(0, item), completed([item])]);
    expect(answer.error).toBeUndefined();
    expect(answer.item.parts).toMatchObject([{ value: { id: 'ig_1' } }, { kind: 'media' }]);
    const { value } = { value: undefined, ...answer.item.parts[0] };
    expect(value).not.toHaveProperty('result');
  });

  test('whose picture only the final output has get it from there', async () => {
    const item = { type: 'image_generation_call', id: 'ig_1' };
    const answer = await readAnswer([done(0, item), completed([{ ...item, result: 'AQID' }])]);
    expect(answer.item.parts).toMatchObject([{ kind: 'custom' }, { mimeType: 'image/png' }]);
  });

  test('that are under way when a response is cut short leave nothing', async () => {
    const started = added(0, { type: 'web_search_call', status: 'in_progress' });
    const answer = await readAnswer([started, { type: 'response.incomplete', response: {} }]);
    expect(answer.item.parts).toEqual([]);
    expect(isRetracted(answer.deltas)).toBe(true);
  });

  test('without an end of their own are kept when the response has one', async () => {
    const item = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' };
    const answer = await readAnswer([added(0, item), completed()]);
    expect(answer.item.parts).toMatchObject([{ kind: 'custom', value: item }]);
  });

  test('whose picture cannot be read keep it as it came', async () => {
    const item = { type: 'image_generation_call', id: 'ig_1', result: 'AB...CD' };
    const answer = await readAnswer([done(0, item), completed([item])]);
    expect(answer.item.parts).toMatchObject([{ kind: 'custom', value: item }]);
    expect(answer.stop.reason).toBe('stop');
  });
});

describe('traps', () => {
  test('trap: item_id changes on every event, so items are distinguished by output_index', async () => {
    let count = 0;
    const rotate = (event: object) => ({ ...event, item_id: `id-${count++}` });
    const { item, stop } = await readAnswer(
      [
        added(0, callStart({ id: 'id-a' })),
        added(1, callStart({ id: 'id-b', call_id: 'call_2', name: 'get_wind' })),
        argumentsDelta(0, '{"port"'),
        argumentsDelta(1, '{"area"'),
        argumentsDelta(0, ':"Brest"}'),
        argumentsDelta(1, ':"Biscay"}'),
        done(0, call(brest, { id: 'id-c' })),
        done(1, call('{"area":"Biscay"}', { id: 'id-d', call_id: 'call_2', name: 'get_wind' })),
        completed([
          call(brest, { id: 'id-e', call_id: 'call_1' }),
          call('{"area":"Biscay"}', { id: 'id-f', call_id: 'call_2', name: 'get_wind' }),
        ]),
      ].map(rotate),
    );
    expect(callsIn(item.parts)).toMatchObject([
      { toolCallId: 'call_1', name: 'get_tide', arguments: brest },
      { toolCallId: 'call_2', name: 'get_wind', arguments: '{"area":"Biscay"}' },
    ]);
    expect(stop.reason).toBe('tool_use');
  });

  test('trap: ids of messages rotate up to the final output, and nothing is written twice', async () => {
    const { item, deltas } = await readAnswer([
      added(0, message('', { id: 'a', content: [] })),
      text(0, 'Six.'),
      done(0, message('Six.', { id: 'b' })),
      completed([message('Six.', { id: 'c' })]),
    ]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }]);
    expect(isRetracted(deltas)).toBe(false);
  });

  test('trap: arguments only in arguments.done', async () => {
    const whole = { type: 'response.function_call_arguments.done', output_index: 0 };
    const { item } = await readAnswer([
      added(0, callStart()),
      { ...whole, arguments: brest },
      done(0, call(brest)),
      completed(),
    ]);
    expect(callsIn(item.parts)).toMatchObject([{ arguments: brest }]);
  });

  test('trap: arguments in arguments.done, and {} in the end of the item', async () => {
    const whole = { type: 'response.function_call_arguments.done', output_index: 0 };
    const { item } = await readAnswer([
      added(0, callStart()),
      { ...whole, arguments: brest },
      done(0, call('{}')),
      completed([call('{}')]),
    ]);
    expect(callsIn(item.parts)).toMatchObject([{ arguments: brest }]);
  });

  test('trap: arguments only in the final output', async () => {
    const { item, stop } = await readAnswer([
      added(0, callStart()),
      done(0, callStart()),
      completed([call(brest)]),
    ]);
    expect(callsIn(item.parts)).toMatchObject([{ toolCallId: 'call_1', arguments: brest }]);
    expect(stop.reason).toBe('tool_use');
  });

  test('trap: text only in the final output', async () => {
    const { item } = await readAnswer([created, completed([message('Six.')])]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }]);
  });

  test('trap: the final output may be empty; what streamed stays', async () => {
    const { item, stop } = await readAnswer([text(0, 'Six.'), done(1, call(brest)), completed([])]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }, { arguments: brest }]);
    expect(stop.reason).toBe('tool_use');
  });

  test('trap: a call that streamed but never ended is a truncated stream, although completed came', async () => {
    const { error, item } = await readAnswer([
      added(0, callStart()),
      argumentsDelta(0, brest),
      completed([]),
    ]);
    expect(error).toMatchObject({ code: 'truncated_stream', retryable: true });
    expect(item.parts).toEqual([]);
  });

  test('trap: the same, but the final output has the whole call', async () => {
    const { item, stop, deltas } = await readAnswer([
      added(0, callStart()),
      argumentsDelta(0, '{"po'),
      completed([call(brest)]),
    ]);
    expect(callsIn(item.parts)).toMatchObject([{ arguments: brest }]);
    expect(isRetracted(deltas)).toBe(false);
    expect(stop.reason).toBe('tool_use');
  });

  test('trap: incomplete calls must not run', async () => {
    const cut = call('{"port":"Br', { status: 'incomplete' });
    const { item, stop } = await readAnswer([
      added(0, callStart()),
      argumentsDelta(0, '{"port":"Br'),
      done(0, cut),
      completed([cut]),
    ]);
    // Users see the text. It has no value, so nothing can run.
    expect(item.parts).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'call_1',
        name: 'get_tide',
        arguments: '{"port":"Br',
        partial: true,
      },
    ]);
    expect(stop).toEqual({ reason: 'stop', raw: 'completed' });
  });

  test('trap: the final output can take back that a call was complete, and say that it is', async () => {
    const cut = call(brest, { status: 'incomplete' });
    const half = await readAnswer([done(0, call(brest)), completed([cut])]);
    expect(half.item.parts).toMatchObject([{ toolCallId: 'call_1', partial: true }]);
    expect(half.item.parts[0]).not.toHaveProperty('input');
    expect(half.stop.reason).toBe('stop');
    const whole = await readAnswer([done(0, cut), completed([call(brest)])]);
    expect(whole.item.parts).toMatchObject([{ toolCallId: 'call_1', input: { port: 'Brest' } }]);
    expect(whole.item.parts).toHaveLength(1);
    expect(whole.stop.reason).toBe('tool_use');
  });

  test('trap: the call that an incomplete response was at is partial, ended or not', async () => {
    const started = [added(0, callStart()), argumentsDelta(0, '{"port":"Br')];
    const incomplete = (output: readonly object[]) => ({
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' }, output },
    });
    const half = call('{"port":"Br', { status: 'in_progress' });
    const streams = [
      [...started, incomplete([])],
      [...started, incomplete([half])],
      [...started, done(0, half), incomplete([half])],
    ];
    for (const events of streams) {
      const { item, stop, error } = await readAnswer(events);
      expect(item.parts).toMatchObject([{ arguments: '{"port":"Br', partial: true }]);
      expect(item.parts).toHaveLength(1);
      expect(stop).toEqual({ reason: 'length', raw: 'max_output_tokens' });
      expect(error).toBeUndefined();
    }
  });

  test('trap: only the missing end of a text is written', async () => {
    const { item, deltas } = await readAnswer([
      text(0, 'Got'),
      text(0, ' it'),
      { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Got it: six' },
      done(0, message('Got it: six feet')),
      completed([message('Got it: six feet')]),
    ]);
    expect(item.parts).toMatchObject([{ text: 'Got it: six feet' }]);
    const chunks = deltas.flatMap((delta) => (delta.type === 'append_text' ? delta.chunk : []));
    expect(chunks).toEqual(['Got', ' it', ': six', ' feet']);
  });

  test('trap: what contradicts the end of an item is replaced in its place', async () => {
    const { item, deltas } = await readAnswer([
      text(0, 'Sevn'),
      text(1, 'last'),
      summary(2, 0, 'Mmh'),
      added(3, callStart()),
      argumentsDelta(3, '{"port":"Nantes"}'),
      done(0, message('Seven')),
      done(1, message('last', { id: 'msg_2' })),
      done(2, { type: 'reasoning', id: 'rs_1', summary: [{ text: 'Hm' }] }),
      done(3, call(brest)),
      completed(),
    ]);
    expect(item.parts).toMatchObject([
      { text: 'Seven' },
      { text: 'last' },
      { kind: 'reasoning', text: 'Hm' },
      { arguments: brest, toolCallId: 'call_1' },
    ]);
    expect(isRetracted(deltas)).toBe(false);
  });

  test('trap: what contradicts the final output is written anew, and all after it', async () => {
    const { item, stop } = await readAnswer([
      done(0, message('Six.')),
      done(1, call(brest)),
      completed([message('Seven.'), call(brest)]),
    ]);
    expect(item.parts).toMatchObject([
      { text: 'Seven.' },
      { toolCallId: 'call_1', arguments: brest },
    ]);
    expect(stop.reason).toBe('tool_use');
  });

  test('trap: an item that only the final output has stands where that has it', async () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
    const { item } = await readAnswer([
      added(0, callStart()),
      argumentsDelta(0, brest),
      done(0, call(brest)),
      completed([reasoning, call(brest)]),
    ]);
    expect(item.parts).toMatchObject([
      { kind: 'reasoning', providerState: state(reasoning) },
      { kind: 'tool_call', toolCallId: 'call_1' },
    ]);
    expect(item.parts[1]?.providerState?.data).toMatchObject({
      origin: { reasoning: 'rs_1', isNext: true },
    });
  });

  test('trap: items without ids are not taken for each other', async () => {
    const { id: _id, ...bare } = message('');
    const of = (said: string) => ({ ...bare, content: [{ type: 'output_text', text: said }] });
    const { item, deltas } = await readAnswer([
      done(0, of('a')),
      done(1, of('b')),
      completed([of('a'), of('b')]),
    ]);
    expect(item.parts).toMatchObject([{ text: 'a' }, { text: 'b' }]);
    expect(isRetracted(deltas)).toBe(false);
  });

  test('trap: the final output may leave out items that ended; they stay', async () => {
    const search = { type: 'web_search_call', id: 'ws_1' };
    const events = [done(0, message('a')), done(1, search), done(2, message('b', { id: 'msg_2' }))];
    const { item } = await readAnswer([
      ...events,
      completed([message('a'), message('b', { id: 'msg_2' })]),
    ]);
    expect(item.parts).toMatchObject([{ text: 'a' }, { kind: 'custom' }, { text: 'b' }]);
  });

  test('trap: the undeclared wrapper parallel is the calls inside it', async () => {
    const uses = [
      { recipient_name: 'functions.get_tide', parameters: { port: 'Brest' } },
      { recipient_name: 'get_wind', parameters: { area: 'Biscay' } },
    ];
    for (const name of ['parallel', 'multi_tool_use.parallel']) {
      const wrapper = call(JSON.stringify({ tool_uses: uses }), { name });
      const { item, stop, deltas } = await readAnswer([
        added(0, { ...wrapper, arguments: '' }),
        argumentsDelta(0, wrapper.arguments),
        done(0, wrapper),
        completed([wrapper]),
      ]);
      expect(callsIn(item.parts)).toMatchObject([
        { toolCallId: 'call_1_0', name: 'get_tide', input: { port: 'Brest' } },
        { toolCallId: 'call_1_1', name: 'get_wind', input: { area: 'Biscay' } },
      ]);
      expect(stop.reason).toBe('tool_use');
      expect(deltas.some(isCall)).toBe(false);
    }
  });

  test('trap: a declared tool of that name is an ordinary tool', async () => {
    const wrapper = call('{"tool_uses":[{"recipient_name":"a"}]}', { name: 'parallel' });
    const tools = [{ name: 'parallel', inputSchema: {} }];
    const { item } = await readAnswer([done(0, wrapper), completed()], { items: [], tools });
    expect(callsIn(item.parts)).toMatchObject([{ name: 'parallel', toolCallId: 'call_1' }]);
    const other = await read([sseOf([done(0, wrapper), completed()])], emptyRequest, {
      extraTools: [{ type: 'custom', name: 'parallel' }],
    });
    expect(callsIn(other.item.parts)).toMatchObject([{ name: 'parallel' }]);
  });

  test('trap: what looks like the wrapper and is not stays a call', async () => {
    const odd = ['{}', '{"tool_uses":[]}', '{"tool_uses":[{"parameters":{}}]}', '{"tool', ''];
    for (const args of odd) {
      const wrapper = call(args, { name: 'parallel' });
      const { item } = await readAnswer([done(0, wrapper), completed()]);
      expect(callsIn(item.parts)).toMatchObject([{ name: 'parallel', arguments: args }]);
    }
  });

  test('trap: a stream without a terminal event is truncated, and its call does not count', async () => {
    const { error, stop } = await readAnswer([text(0, 'Six'), done(1, call(brest))]);
    expect(error).toMatchObject({ code: 'truncated_stream' });
    expect(stop.reason).toBe('error');
  });

  test('trap: a second response that begins inside the first is refused', async () => {
    const { error } = await readAnswer([
      created,
      text(0, 'a'),
      { type: 'response.created', response: { id: 'resp_2' } },
    ]);
    expect(error).toMatchObject({ code: 'protocol_error' });
  });

  test('the same start again, and events after the end, change nothing', async () => {
    const { item, error } = await readAnswer([
      created,
      created,
      text(0, 'Six.'),
      completed([message('Six.')]),
      completed([message('Six.')]),
      text(0, 'Seven.'),
      text(1, 'Eight.'),
      { type: 'response.created', response: { id: 'resp_2' } },
      { no: 'type' },
    ]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }]);
    expect(error).toBeUndefined();
  });
});

describe('edge cases', () => {
  test('E2: indexes start anywhere and have gaps', async () => {
    const { item } = await readAnswer([
      text(7, 'a'),
      done(7, message('a')),
      done(12, call(brest)),
      completed(),
    ]);
    expect(item.parts).toMatchObject([{ text: 'a' }, { arguments: brest }]);
  });

  test('E3: all items at index 0 are items of their own', async () => {
    const second = { id: 'fc_2', call_id: 'call_2', name: 'get_wind' };
    const { item, deltas } = await readAnswer([
      added(0, callStart()),
      argumentsDelta(0, brest),
      done(0, call(brest)),
      added(0, callStart(second)),
      argumentsDelta(0, '{"area":1}'),
      done(0, call('{"area":1}', second)),
      completed([call(brest), call('{"area":1}', second)]),
    ]);
    expect(callsIn(item.parts)).toMatchObject([
      { toolCallId: 'call_1', arguments: brest },
      { toolCallId: 'call_2', arguments: '{"area":1}' },
    ]);
    expect(deltas.filter(isCall)).toHaveLength(2);
  });

  test('E3: items of other types that are open at one index end as what they are', async () => {
    const { item, deltas } = await readAnswer([
      added(0, message('', { content: [] })),
      text(0, 'Si'),
      added(0, callStart()),
      argumentsDelta(0, brest),
      done(0, message('Six.')),
      done(0, call(brest)),
      completed(),
    ]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }, { arguments: brest }]);
    expect(item.parts).toHaveLength(2);
    expect(isRetracted(deltas)).toBe(false);
  });

  test('E13: an item that ends again, otherwise, is the last; one of another id is another', async () => {
    const again = await readAnswer([
      done(0, message('Six.')),
      done(0, message('Seven.')),
      completed(),
    ]);
    expect(again.item.parts).toMatchObject([{ text: 'Seven.' }]);
    expect(again.item.parts).toHaveLength(1);
    const other = message('Seven.', { id: 'msg_2' });
    const two = await readAnswer([done(0, message('Six.')), done(0, other), completed()]);
    expect(two.item.parts).toMatchObject([{ text: 'Six.' }, { text: 'Seven.' }]);
    const same = await readAnswer([
      done(0, message('Six.')),
      done(0, message('Six.')),
      completed(),
    ]);
    expect(same.item.parts).toHaveLength(1);
  });

  test('E1: without any index, pieces belong to the latest item', async () => {
    const bare = (event: { readonly output_index: number }) => {
      const { output_index: _index, ...rest } = event;
      return rest;
    };
    const events = [
      added(0, message('', { content: [] })),
      text(0, 'Six.'),
      done(0, message('Six.')),
      added(1, callStart()),
      argumentsDelta(1, brest),
      done(1, call(brest)),
    ];
    const { item } = await readAnswer([...events.map(bare), completed()]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }, { arguments: brest }]);
  });

  test('E11: empty arguments stay empty, which means {}', async () => {
    const { item } = await readAnswer([added(0, callStart()), done(0, call('')), completed()]);
    expect(callsIn(item.parts)).toMatchObject([{ arguments: '', input: {} }]);
  });

  test('E14: arguments as an object are its JSON', async () => {
    const item = call('', { arguments: { port: 'Brest' } });
    const answer = await readAnswer([done(0, item), completed()]);
    expect(callsIn(answer.item.parts)).toMatchObject([{ arguments: brest }]);
  });

  test('E17: the same call twice is two calls', async () => {
    const again = { id: 'fc_2', call_id: 'call_2' };
    const { item } = await readAnswer([
      done(0, call(brest)),
      done(1, call(brest, again)),
      completed([call(brest), call(brest, again)]),
    ]);
    expect(callsIn(item.parts)).toHaveLength(2);
  });

  test('E19: equal deltas in a row are kept', async () => {
    const { item } = await readAnswer([text(0, 'ha'), text(0, 'ha'), text(0, 'ha'), completed()]);
    expect(item.parts).toMatchObject([{ text: 'hahaha' }]);
  });

  test('E22: unknown events and fields, obfuscation and logprobs are passed over', async () => {
    const { item } = await readAnswer([
      { type: 'response.weather.report', sky: 'grey' },
      { type: 'keepalive' },
      { ...text(0, 'Six.'), obfuscation: 'xyz', logprobs: [{ token: 'Six' }] },
      completed(),
    ]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }]);
  });

  test('E23: reasoning between texts stays where it is', async () => {
    const { item } = await readAnswer([
      summary(0, 0, 'a'),
      text(1, 'b'),
      summary(2, 0, 'c'),
      text(3, 'd'),
      completed(),
    ]);
    expect(item.parts.map((part) => ('text' in part ? part.text : ''))).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  test('E24: only reasoning, and then the limit, is an answer', async () => {
    const { item, stop, error } = await readAnswer([
      summary(0, 0, 'Hm'),
      {
        type: 'response.incomplete',
        response: { incomplete_details: { reason: 'max_output_tokens' } },
      },
    ]);
    expect(item.parts).toMatchObject([{ kind: 'reasoning', text: 'Hm' }]);
    expect([stop.reason, error]).toEqual(['length', undefined]);
  });

  test('E25: cut in a call, the call is gone', async () => {
    const { item, error } = await readAnswer([added(0, callStart()), argumentsDelta(0, '{"po')]);
    expect(item.parts).toEqual([]);
    expect(error).toMatchObject({ code: 'truncated_stream' });
  });

  test('E26: arguments that are not JSON are kept, and the agent loop handles them', async () => {
    const { item, stop } = await readAnswer([done(0, call('{"port":')), completed()]);
    const [part] = callsIn(item.parts);
    expect(part?.arguments).toBe('{"port":');
    expect(part).not.toHaveProperty('input');
    expect(stop.reason).toBe('tool_use');
  });

  test('E27: a surrogate pair in two deltas is one character', async () => {
    const { item } = await readAnswer([
      text(0, 'a\ud83d'),
      text(0, '\udc1fb'),
      added(1, callStart()),
      argumentsDelta(1, '"\ud83d'),
      argumentsDelta(1, '\udc1f"'),
      done(1, call('"🐟"')),
      completed(),
    ]);
    expect(item.parts).toMatchObject([{ text: 'a🐟b' }, { arguments: '"🐟"' }]);
  });

  test('E29: __proto__ in arguments is data', async () => {
    const args = '{"__proto__":{"admin":true}}';
    const { item } = await readAnswer([done(0, call(args)), completed()]);
    const [part] = callsIn(item.parts);
    expect(Object.keys(part?.input ?? {})).toEqual(['__proto__']);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test('invalid shapes do not crash', async () => {
    const odd: fc.Arbitrary<object> = fc.record({
      type: fc.constantFrom(
        'response.output_item.added',
        'response.output_item.done',
        'response.output_text.delta',
        'response.output_text.done',
        'response.output_text.annotation.added',
        'response.content_part.done',
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
        'response.custom_tool_call_input.delta',
        'response.reasoning_summary_text.delta',
        'response.reasoning_summary_part.done',
        'response.image_generation_call.partial_image',
        'response.web_search_call.searching',
        'response.in_progress',
      ),
      output_index: fc.oneof(fc.nat(2), fc.jsonValue({ maxDepth: 1 })),
      content_index: fc.jsonValue({ maxDepth: 1 }),
      delta: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 1 })),
      text: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 1 })),
      part: fc.jsonValue({ maxDepth: 2 }),
      annotation: fc.jsonValue({ maxDepth: 2 }),
      item: fc.oneof(
        fc.jsonValue({ maxDepth: 2 }),
        fc.record({
          type: fc.constantFrom(
            'message',
            'reasoning',
            'function_call',
            'image_generation_call',
            7,
          ),
          id: fc.jsonValue({ maxDepth: 1 }),
          name: fc.constantFrom('a', null, 3),
          content: fc.jsonValue({ maxDepth: 3 }),
          summary: fc.jsonValue({ maxDepth: 3 }),
          arguments: fc.jsonValue({ maxDepth: 2 }),
          status: fc.constantFrom('completed', 'incomplete', null),
        }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(odd, { maxLength: 12 }), fc.boolean(), async (events, isEnded) => {
        const { error, stop } = await readAnswer([...events, ...(isEnded ? [completed()] : [])]);
        const reasons = [
          'a tool call has no name',
          'a tool call has no end',
          'a tool call ended with another id',
          'arguments could belong to several',
          'last event',
        ];
        if (error !== undefined && events.length > 0) {
          expect(reasons.some((reason) => error.message.includes(reason))).toBe(true);
        }
        expect(stop.reason === 'error').toBe(error !== undefined);
      }),
      { numRuns: runs(500) },
    );
  });
});

describe('items without a reliable location', () => {
  const bare = (event: object): object => {
    const { output_index: _index, ...rest } = { output_index: 0, ...event };
    return rest;
  };
  const atZero = (event: object) => ({ ...event, output_index: 0 });
  const of = (item_id: string, event: object) => ({ ...event, item_id });
  const read = { id: 'fc_A', call_id: 'call_A', name: 'read' };
  const remove = { id: 'fc_B', call_id: 'call_B', name: 'delete' };
  const a = '{"path":"a"}';
  const b = '{"path":"b"}';
  const argumentsDone = (whole: string) => ({
    type: 'response.function_call_arguments.done',
    arguments: whole,
  });
  const textDone = (whole: string) => ({ type: 'response.output_text.done', text: whole });
  const two = [
    { name: 'read', toolCallId: 'call_A', arguments: a },
    { name: 'delete', toolCallId: 'call_B', arguments: b },
  ];
  const lateEnds = [
    added(0, callStart(read)),
    of('fc_A', argumentsDelta(0, '{"path":')),
    of('fc_A', argumentsDelta(0, '"a"}')),
    added(1, callStart(remove)),
    of('fc_B', argumentsDelta(1, '{"path":')),
    of('fc_B', argumentsDelta(1, '"b"}')),
    done(0, call(a, read)),
    done(1, call(b, remove)),
  ];
  const both = [call(a, read), call(b, remove)];

  test.each([
    ['no index at all, and all ends last (llama.cpp)', bare],
    ['index 0 for all (proxies)', atZero],
  ])('two calls keep their arguments: %s', async (_, placed) => {
    for (const output of [[], both]) {
      const answer = await readAnswer([...lateEnds.map(placed), completed(output)]);
      expect(callsIn(answer.item.parts)).toMatchObject(two);
      expect(answer.item.parts).toHaveLength(2);
      expect(isRetracted(answer.deltas)).toBe(false);
    }
  });

  test('two calls whose pieces alternate are distinguished by item_id, whatever the index says', async () => {
    const pieces = [
      of('fc_B', argumentsDelta(0, '{"path":')),
      of('fc_A', argumentsDelta(1, '{"path":')),
      of('fc_A', argumentsDelta(0, '"a"}')),
      of('fc_B', argumentsDelta(0, '"b"}')),
    ];
    const starts = [added(0, callStart(read)), added(1, callStart(remove))];
    // Ends that do not repeat the arguments, so the streamed text counts.
    const ends = [done(1, callStart(remove)), done(0, callStart(read))];
    const { item } = await readAnswer([...starts, ...pieces, ...ends, completed()]);
    expect(callsIn(item.parts)).toMatchObject(two);
  });

  test('ends come in another order than starts, with ids that changed: call_id tells', async () => {
    const { item } = await readAnswer(
      [
        added(0, callStart(read)),
        added(1, callStart(remove)),
        done(1, call(b, { ...remove, id: 'rotated-1' })),
        done(0, call(a, { ...read, id: 'rotated-2' })),
        completed([call(a, { ...read, id: 'rotated-3' }), call(b, { ...remove, id: 'rotated-4' })]),
      ].map((event) => ('response' in event ? event : bare(event))),
    );
    expect(callsIn(item.parts)).toMatchObject(two);
  });

  test('arguments that could be of either call are not guessed: an end must repeat them', async () => {
    const pieces = [
      added(0, callStart(read)),
      added(0, callStart(remove)),
      of('rotated-1', argumentsDelta(0, a)),
      of('rotated-2', argumentsDelta(0, b)),
    ].map(bare);
    const ends = [done(0, call(a, read)), done(0, call(b, remove))].map(bare);
    const { item } = await readAnswer([...pieces, ...ends, completed()]);
    expect(callsIn(item.parts)).toMatchObject(two);
    for (const said of ['', '{}']) {
      const silent = [done(0, call(said, read)), done(0, call(said, remove))].map(bare);
      const { error, item: kept } = await readAnswer([...pieces, ...silent, completed()]);
      expect(error).toMatchObject({ code: 'protocol_error' });
      expect(callsIn(kept.parts)).toEqual([]);
    }
  });

  test('a call is never ended by the item of another call', async () => {
    const answer = await readAnswer([
      added(0, callStart(read)),
      argumentsDelta(0, a),
      done(0, call(b, remove)),
      done(0, call(a, read)),
      completed(),
    ]);
    expect(callsIn(answer.item.parts)).toMatchObject(two);
    const cut = await readAnswer([
      added(0, callStart(read)),
      argumentsDelta(0, a),
      done(0, call(b, remove)),
      completed(),
    ]);
    expect(cut.error).toMatchObject({ code: 'truncated_stream' });
  });

  test('a call whose call_id changes up to its end is one call, with the last (vLLM)', async () => {
    const start = callStart({ ...read, call_id: 'call_early' });
    const events = [added(0, start), of('fc_A', argumentsDelta(0, a)), done(0, call(a, read))];
    for (const output of [[], [call(a, read)], [call(a, { ...read, call_id: 'call_A' })]]) {
      const { item } = await readAnswer([...events, completed(output)]);
      expect(callsIn(item.parts)).toMatchObject([two[0]]);
      expect(item.parts).toHaveLength(1);
    }
    const late = call(a, { ...read, id: 'fc_late', call_id: 'call_late' });
    const { item } = await readAnswer([...events, completed([late])]);
    expect(callsIn(item.parts)).toMatchObject([{ ...two[0], toolCallId: 'call_late' }]);
    expect(item.parts).toHaveLength(1);
    // The streamed text is not used as the input of a call with another id.
    const silent = await readAnswer([...events.slice(0, 2), done(0, call('', read)), completed()]);
    expect(silent.error).toBeDefined();
    expect(callsIn(silent.item.parts).filter(({ partial }) => !partial)).toEqual([]);
  });

  test('a second call with the arguments of the first is a call', async () => {
    const start = { id: 'fc_1', call_id: 'c1', name: 'start' };
    const stop = { id: 'fc_2', call_id: 'c2', name: 'stop' };
    const { id: _first, ...startBare } = call('{}', start);
    const { id: _second, ...stopBare } = call('{}', stop);
    const { call_id: _c1, ...startNameless } = startBare;
    const { call_id: _c2, ...stopNameless } = stopBare;
    const pairs = [
      [call('{}', start), call('{}', stop)],
      [startBare, stopBare],
      [startNameless, stopNameless],
    ] as const;
    for (const [one, other] of pairs) {
      for (const placed of [bare, atZero]) {
        const events = [done(0, one), done(1, other)].map(placed);
        const { item } = await readAnswer([...events, completed()]);
        expect(callsIn(item.parts).map(({ name }) => name)).toEqual(['start', 'stop']);
      }
    }
  });

  test('the start and the end of a call that come again change nothing', async () => {
    const events = [added(0, callStart()), done(0, call(brest))];
    const { item, error } = await readAnswer([...events, ...events, completed()]);
    expect(callsIn(item.parts)).toMatchObject([{ arguments: brest }]);
    expect(error).toBeUndefined();
  });

  test('text, a call, and then the end of the text: the text is said once', async () => {
    const stream = (placed: (event: object) => object, ids: readonly string[]) =>
      [
        added(0, message('', { content: [] })),
        of(ids[0] ?? '', text(0, 'Six.')),
        added(1, callStart()),
        of(ids[1] ?? '', textDone('Six.')),
        of(ids[2] ?? '', { type: 'response.content_part.done', part: { text: 'Six.' } }),
        argumentsDone(brest),
        done(0, message('Six.')),
        of(ids[3] ?? '', textDone('Six.')),
        done(1, call(brest)),
      ].map(placed);
    for (const placed of [bare, atZero]) {
      for (const ids of [
        ['msg_1', 'msg_1', 'msg_1', 'msg_1'],
        ['r1', 'r2', 'r3', 'r4'],
      ]) {
        for (const output of [[], [message('Six.'), call(brest)]]) {
          const { item, deltas } = await readAnswer([...stream(placed, ids), completed(output)]);
          expect(item.parts).toMatchObject([{ text: 'Six.' }, { arguments: brest }]);
          expect(item.parts).toHaveLength(2);
          expect(isRetracted(deltas)).toBe(false);
        }
      }
    }
  });

  test('pieces whose start has no index, or another, find the one item that is open', async () => {
    const { item } = await readAnswer([
      bare(added(0, callStart(read))),
      argumentsDelta(3, a),
      done(3, callStart(read)),
      completed(),
    ]);
    expect(callsIn(item.parts)).toMatchObject([two[0]]);
    const message0 = added(0, message('', { content: [] }));
    const call1 = [added(1, callStart()), text(1, 'Six.'), done(1, call(brest))];
    const other = await readAnswer([message0, ...call1, done(0, message('Six.')), completed()]);
    expect(other.item.parts).toMatchObject([{ arguments: brest }, { text: 'Six.' }]);
    expect(other.item.parts).toHaveLength(2);
  });

  test('messages with one id for all, at places of their own, are messages of their own', async () => {
    const { item } = await readAnswer([
      text(0, 'a'),
      done(0, message('a')),
      of('msg_1', text(1, 'b')),
      done(1, message('b')),
      completed([message('a'), message('b')]),
    ]);
    expect(item.parts).toMatchObject([{ text: 'a' }, { text: 'b' }]);
  });

  test('what streamed and a final output does not have is retracted', async () => {
    const { item, error } = await readAnswer([
      text(4, 'Six.'),
      added(5, callStart({ ...remove, id: undefined })),
      argumentsDelta(6, a),
      done(0, message('Six.')),
      done(1, call(a, read)),
      completed([message('Six.'), call(a, read)]),
    ]);
    expect(error).toBeUndefined();
    expect(item.parts).toMatchObject([{ text: 'Six.' }, two[0]]);
    expect(item.parts).toHaveLength(2);
  });

  test('a call that ended and that the calls of a final output do not have is retracted', async () => {
    const { item } = await readAnswer([
      done(0, call(b, remove)),
      done(1, call(a, read)),
      completed([call(a, read)]),
    ]);
    expect(callsIn(item.parts)).toMatchObject([two[0]]);
    expect(item.parts).toHaveLength(1);
  });

  test('a text that streamed is kept where the final output lists no texts', async () => {
    const { item } = await readAnswer([text(0, 'Six.'), done(1, call(a, read)), completed(both)]);
    expect(item.parts).toMatchObject([{ text: 'Six.' }, ...two]);
  });

  test('no call gets the arguments of another, whatever events leave out', async () => {
    const calls = [
      { item: read, pieces: ['{"path"', ':"a"}'] },
      { item: remove, pieces: ['{"path":', '"b"}'] },
      { item: { id: 'fc_C', call_id: 'call_C', name: 'list' }, pieces: ['', '{"all":1}'] },
    ];
    const expected = [...two, { name: 'list', toolCallId: 'call_C', arguments: '{"all":1}' }];
    const servers = fc.record({
      index: fc.constantFrom('right', 'zero', 'none', 'odd'),
      id: fc.constantFrom('stable', 'rotating', 'none'),
      isRepeated: fc.boolean(),
      isListed: fc.boolean(),
      turns: fc.array(fc.nat(2), { minLength: 12, maxLength: 12 }),
      areEndsLate: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(servers, async (server) => {
        let count = 0;
        const idOf = (id: string) => {
          if (server.id === 'none') return {};
          return { item_id: server.id === 'stable' ? id : `rotated-${count++}` };
        };
        const placed = (event: object, at: number, id: string) => {
          // A wrong index can be detected only if the ids are right.
          const odd = server.id === 'stable' ? count++ % 3 : at;
          const index = { right: at, zero: 0, odd, none: undefined }[server.index];
          const { item_id } = { item_id: undefined, ...idOf(id) };
          const { item }: { item?: object } = event;
          const named = item === undefined ? { item_id } : { item: { ...item, id: item_id } };
          return { ...event, ...named, output_index: index };
        };
        const queues = calls.map(({ item: { id, ...rest }, pieces }, at) =>
          [
            added(at, callStart({ ...rest })),
            ...pieces.map((delta) => argumentsDelta(at, delta)),
            done(at, call(server.isRepeated ? pieces.join('') : '', rest)),
          ].map((event) => placed(event, at, id)),
        );
        const ends = server.areEndsLate ? queues.flatMap((queue) => queue.splice(-1)) : [];
        const picked = server.turns.flatMap((turn) => queues[turn]?.shift() ?? []);
        const output = calls.map(({ item, pieces }) => call(pieces.join(''), item));
        const { item, error } = await readAnswer([
          ...picked,
          ...queues.flat(),
          ...ends,
          completed(server.isListed ? output : []),
        ]);
        const whole = callsIn(item.parts).filter(({ partial }) => !partial);
        const isPlaced = server.id === 'stable' || server.index === 'right';
        if (isPlaced || server.isRepeated || server.isListed) expect(error).toBeUndefined();
        if (error === undefined) expect(whole).toHaveLength(3);
        for (const { name, toolCallId, arguments: args } of whole) {
          expect(expected).toContainEqual({ name, toolCallId, arguments: args });
        }
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('a response that was cut short', () => {
  const incomplete = (output: readonly object[]) => ({
    type: 'response.incomplete',
    response: { incomplete_details: { reason: 'max_output_tokens' }, output },
  });
  const { status: _status, arguments: _arguments, ...open } = call('');

  test('E11: its last call is not whole, unless it says so itself and its arguments are', async () => {
    const streams = [
      [incomplete([open])],
      [added(0, callStart()), incomplete([open])],
      [added(0, callStart()), done(0, open), incomplete([])],
      [added(0, callStart()), done(0, open), incomplete([open])],
      [done(0, call('')), incomplete([])],
      [done(0, call('{"po')), incomplete([call('{"po')])],
      [done(0, message('Six.')), done(1, open), incomplete([message('Six.'), open])],
    ];
    for (const events of streams) {
      const { item, stop, error } = await readAnswer(events);
      const calls = callsIn(item.parts);
      expect(calls).toMatchObject([{ name: 'get_tide', partial: true }]);
      expect(calls[0]).not.toHaveProperty('input');
      expect(stop).toEqual({ reason: 'length', raw: 'max_output_tokens' });
      expect(error).toBeUndefined();
    }
  });

  test('E11: a call that only the end of the response has is never shown as whole before', async () => {
    const { deltas } = await readAnswer([added(0, callStart()), incomplete([open])]);
    expect(isRetracted(deltas)).toBe(false);
  });

  test('a call that says that it is complete, and is, stays; so does one that something follows', async () => {
    const last = await readAnswer([done(0, call(brest)), incomplete([call(brest)])]);
    expect(callsIn(last.item.parts)).toMatchObject([{ input: { port: 'Brest' } }]);
    expect(isRetracted(last.deltas)).toBe(false);
    const followed = await readAnswer([done(0, open), text(1, 'Si'), incomplete([])]);
    expect(callsIn(followed.item.parts)).toMatchObject([{ input: {} }]);
  });
});

describe('content at unusual positions', () => {
  test('content_part.done calls reasoning output_text: it is not said again as text', async () => {
    const start = added(0, { type: 'reasoning', id: 'rs_1', summary: [] });
    const end = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ text: 'Hm.' }] };
    const part = { type: 'output_text', text: 'Hm.' };
    const partDone = {
      type: 'response.content_part.done',
      output_index: 0,
      content_index: 0,
      part,
    };
    const full = { type: 'response.reasoning_text.delta', output_index: 0, delta: 'Hm.' };
    for (const piece of [full, summary(0, 0, 'Hm.')]) {
      for (const place of [{}, { output_index: undefined }, { item_id: 'rs_1' }]) {
        const events = [start, piece, { ...partDone, ...place }];
        const { item } = await readAnswer([...events, completed()]);
        expect(item.parts).toMatchObject([{ kind: 'reasoning', text: 'Hm.' }]);
        expect(item.parts).toHaveLength(1);
      }
    }
    const only = await readAnswer([start, partDone, done(0, end), completed()]);
    expect(only.item.parts).toMatchObject([{ kind: 'reasoning', form: 'full', text: 'Hm.' }]);
    expect(only.item.parts).toHaveLength(1);
  });

  test('an empty message between reasoning and a call is not what the reasoning led to', async () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
    const { item } = await readAnswer([
      done(0, reasoning),
      added(1, message('', { content: [] })),
      done(1, message('')),
      done(2, call(brest)),
      completed(),
    ]);
    expect(item.parts.at(-1)?.providerState?.data).toMatchObject({
      origin: { reasoning: 'rs_1', isNext: true },
    });
  });

  test('annotations that only the final output has, or a part that ends, are citations', async () => {
    const raw = { type: 'url_citation', url: 'https://a.example' };
    const part = { type: 'output_text', text: 'Six.', annotations: [raw] };
    const whole = message('', { content: [part] });
    const partDone = { type: 'response.content_part.done', output_index: 0, part };
    const streams = [
      [text(0, 'Six.'), done(0, message('Six.')), completed([whole])],
      [text(0, 'Six.'), completed([whole])],
      [done(0, message('Six.')), done(0, whole), completed()],
      [text(0, 'Six.'), partDone, completed()],
      [completed([whole])],
    ];
    for (const events of streams) {
      const { item } = await readAnswer(events);
      expect(item.parts).toMatchObject([
        { text: 'Six.', metadata: { citations: [{ url: 'https://a.example', raw }] } },
      ]);
      expect(item.parts).toHaveLength(1);
    }
  });
});

describe('any stream', () => {
  const events = [
    created,
    added(0, { type: 'reasoning', id: 'rs_1', summary: [] }),
    summary(0, 0, 'Hm 🐟'),
    done(0, {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ text: 'Hm 🐟' }],
      encrypted_content: 'e',
    }),
    added(1, message('', { content: [] })),
    text(1, 'Six €'),
    text(1, ' feet'),
    done(1, message('Six € feet')),
    added(2, callStart()),
    argumentsDelta(2, brest),
    done(2, call(brest)),
    completed([], { usage: { input_tokens: 3, output_tokens: 4 } }),
  ];
  const bytes = new TextEncoder().encode(sseOf(events));

  test('gives the same parts however its bytes are split', async () => {
    const whole = await read([bytes]);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 6 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((end, index) => bytes.slice(at[index], end));
        const { item, stop, usage } = await read(chunks);
        expect({ item, stop, usage }).toEqual({
          item: whole.item,
          stop: whole.stop,
          usage: whole.usage,
        });
      }),
      { numRuns: runs(200) },
    );
  });

  test.each(events.map((_, count) => count))('cut after %i events is truncated', async (count) => {
    const { error, stop } = await readAnswer(events.slice(0, count));
    expect(error).toMatchObject({ code: 'truncated_stream' });
    expect(stop.reason).toBe('error');
  });

  test('that comes in one piece is the same answer', async () => {
    const output = [message('Six.'), call(brest)];
    const whole = JSON.stringify({ object: 'response', id: 'resp_1', status: 'completed', output });
    const { fetch } = fetchOf([whole], { headers: { 'content-type': 'application/json' } });
    const provider = openaiResponses({ model: 'gpt-5.1', apiKey: 'key', fetch });
    const answer = await provider.complete(emptyRequest, { ids: countingIds() });
    expect(answer.item.parts).toMatchObject([{ text: 'Six.' }, { arguments: brest }]);
    expect(answer.stop.reason).toBe('tool_use');
  });
});
