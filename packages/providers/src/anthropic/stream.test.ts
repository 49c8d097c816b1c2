import { countingIds, type Item, type JsonObject, type Part } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import type { AnthropicOptions } from './options.ts';
import { anthropic } from './provider.ts';

type Event = JsonObject | string;

interface Ask extends Partial<AnthropicOptions> {
  readonly request?: ModelRequest;
  readonly init?: ResponseInit;
}

const model = 'claude-sonnet-4-5';

async function answerTo(
  body: string,
  { request, init, ...options }: Ask = {},
): Promise<Completion> {
  const { fetch } = fetchOf([body], init);
  const provider = anthropic({ model, apiKey: 'key-of-nobody', fetch, ...options });
  return provider.complete(request ?? { items: [] }, { ids: countingIds() });
}

const read = (events: readonly Event[], ask?: Ask) => answerTo(sseOf(events), ask);

const started = (fields: JsonObject = {}): JsonObject => ({
  type: 'message_start',
  message: {
    id: 'msg_1',
    model: 'claude-sonnet-4-5-20250929',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 10, output_tokens: 1 },
    ...fields,
  },
});
const begin = (index: number, content_block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block,
});
const grow = (index: number, delta: JsonObject): JsonObject => ({
  type: 'content_block_delta',
  index,
  delta,
});
const say = (index: number, text: string) => grow(index, { type: 'text_delta', text });
const think = (index: number, thinking: string) =>
  grow(index, { type: 'thinking_delta', thinking });
const sign = (index: number, signature: string) =>
  grow(index, { type: 'signature_delta', signature });
const write = (index: number, partial_json: string) =>
  grow(index, { type: 'input_json_delta', partial_json });
const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index });
const ended = (stop_reason: string | null, fields: JsonObject = {}): JsonObject => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null, ...fields },
  usage: { output_tokens: 5 },
});
const over: JsonObject = { type: 'message_stop' };
const ping: JsonObject = { type: 'ping' };

/** Blocks inside a complete message. */
const message = (blocks: readonly JsonObject[], reason = 'end_turn') => [
  started(),
  ...blocks,
  ended(reason),
  over,
];
const textBlock = (index: number, ...texts: readonly string[]) => [
  begin(index, { type: 'text', text: '' }),
  ...texts.map((text) => say(index, text)),
  stop(index),
];
const callBlock = (index: number, fields: JsonObject, ...pieces: readonly string[]) => [
  begin(index, { type: 'tool_use', id: `toolu_${index}`, name: 'tide', input: {}, ...fields }),
  ...pieces.map((piece) => write(index, piece)),
  stop(index),
];

const textOf = ({ item }: { readonly item: Item }) =>
  item.parts.map((part) => (part.kind === 'text' ? part.text : `<${part.kind}>`));
const callsOf = ({ item }: { readonly item: Item }) =>
  item.parts.flatMap((part) => (part.kind === 'tool_call' ? part : []));

const state = (data: JsonObject) => ({ provider: 'anthropic', model, data });

describe('text', () => {
  test('is what came, also where a block starts with some of it', async () => {
    const {
      item,
      text,
      stop: why,
      model: answered,
      responseId,
      error,
    } = await read([
      started(),
      begin(0, { type: 'text', text: 'High' }),
      say(0, ' water'),
      stop(0),
      ended('end_turn'),
      over,
    ]);
    expect(item.parts).toEqual([{ kind: 'text', text: 'High water' }]);
    expect({ text, why, error }).toEqual({
      text: 'High water',
      why: { reason: 'stop', raw: 'end_turn' },
      error: undefined,
    });
    expect({ answered, responseId }).toEqual({
      answered: 'claude-sonnet-4-5-20250929',
      responseId: 'msg_1',
    });
  });

  test('trap: ping anywhere, even between a start and its delta', async () => {
    const found = await read([
      ping,
      started(),
      ping,
      begin(0, { type: 'text', text: '' }),
      ping,
      say(0, 'a'),
      ping,
      stop(0),
      ping,
      ended('end_turn'),
      ping,
      over,
    ]);
    expect(textOf(found)).toEqual(['a']);
  });

  test('E19: equal consecutive deltas are all kept, and space is text', async () => {
    const found = await read(message(textBlock(0, 'ha', 'ha', ' ', ' ', '\n')));
    expect(textOf(found)).toEqual(['haha  \n']);
  });

  test('E2: indexes start anywhere and have gaps', async () => {
    const found = await read(message([...textBlock(3, 'a'), ...textBlock(900_000_000, 'b')]));
    expect(textOf(found)).toEqual(['a', 'b']);
  });

  test('E23: thinking after text is a new part each time, in order', async () => {
    const thinking = (index: number, text: string) => [
      begin(index, { type: 'thinking', thinking: '', signature: '' }),
      think(index, text),
      sign(index, 's'),
      stop(index),
    ];
    const { item } = await read(
      message([
        ...thinking(0, '1'),
        ...textBlock(1, '2'),
        ...thinking(2, '3'),
        ...textBlock(3, '4'),
      ]),
    );
    expect(item.parts.map((part) => 'text' in part && part.text)).toEqual(['1', '2', '3', '4']);
    expect(item.parts.map(({ kind }) => kind)).toEqual(['reasoning', 'text', 'reasoning', 'text']);
  });

  test('a block in which nothing came is no part', async () => {
    expect(textOf(await read(message([...textBlock(0), ...textBlock(1, 'a')])))).toEqual(['a']);
  });

  test('blocks that stream side by side keep the order in which they started', async () => {
    const found = await read(
      message([
        begin(0, { type: 'text', text: '' }),
        begin(1, { type: 'text', text: '' }),
        say(1, 'b'),
        say(0, 'a'),
        stop(1),
        stop(0),
      ]),
    );
    expect(textOf(found)).toEqual(['a', 'b']);
  });

  test('is not lost if a proxy left out its start', async () => {
    const found = await read(message([say(0, 'a'), say(0, 'b'), think(1, 'c'), stop(1)]));
    expect(textOf(found)).toEqual(['ab', '<reasoning>']);
  });

  test('E27: halves of a pair in two deltas are joined; one alone becomes U+FFFD', async () => {
    const found = await read(
      message([...textBlock(0, 'a\ud83c', '\udf0a'), ...textBlock(1, 'b\ud83c')]),
    );
    expect(textOf(found)).toEqual(['a\u{1f30a}', 'b\ufffd']);
  });

  test('trap: a signature on a text block is ignored', async () => {
    const { item } = await read(
      message([
        begin(0, { type: 'text', text: '', signature: 'x' }),
        say(0, 'a'),
        sign(0, 'y'),
        stop(0),
      ]),
    );
    expect(item.parts).toEqual([{ kind: 'text', text: 'a' }]);
  });

  test('unknown events, deltas and fields are ignored', async () => {
    const found = await read([
      { type: 'weather', sky: 'grey' },
      {},
      { type: 7 },
      started({ diagnostics: { a: 1 } }),
      begin(0, { type: 'text', text: '', mood: 'good' }),
      grow(0, { type: 'sparkle_delta', sparkle: 1 }),
      { type: 'content_block_delta', index: 0 },
      { type: 'content_block_start', index: 5 },
      { type: 'content_block_stop', index: 77 },
      grow(9, { type: 'sparkle_delta' }),
      write(9, ''),
      say(0, 'a'),
      stop(0),
      { type: 'message_delta', delta: null, usage: 'much' },
      ended('end_turn'),
      over,
    ]);
    expect(textOf(found)).toEqual(['a']);
    expect(found.error).toBeUndefined();
  });

  test('citations come once each, also those before the text and at the start', async () => {
    const web = { type: 'web_search_result_location', url: 'https://a.example', title: 'A' };
    const page = { type: 'page_location', document_title: 'B', start_page_number: 1 };
    const { item } = await read(
      message([
        begin(0, { type: 'text', text: '', citations: [page] }),
        grow(0, { type: 'citations_delta', citation: web }),
        say(0, 'At six'),
        grow(0, { type: 'citations_delta', citation: web }),
        stop(0),
      ]),
    );
    expect(item.parts).toEqual([
      {
        kind: 'text',
        text: 'At six',
        metadata: {
          citations: [
            { title: 'B', raw: page },
            { url: 'https://a.example', title: 'A', raw: web },
          ],
        },
        // All citations, as they came, because they are sent back.
        providerState: state({ citations: [page, web, web] }),
      },
    ]);
  });
});

describe('thinking', () => {
  const thinkingBlock = (start: JsonObject, ...deltas: readonly JsonObject[]) =>
    message([begin(0, { type: 'thinking', ...start }), ...deltas, stop(0)]);

  test('trap: a signature may be empty at the start, and its fragments append', async () => {
    const { item } = await read(
      thinkingBlock(
        { thinking: '', signature: '' },
        think(0, 'a '),
        think(0, 'b'),
        sign(0, 'x'),
        sign(0, 'y'),
      ),
    );
    expect(item.parts).toEqual([
      { kind: 'reasoning', form: 'full', text: 'a b', signature: 'xy', providerState: state({}) },
    ]);
  });

  test('may be whole at the start', async () => {
    const { item } = await read(thinkingBlock({ thinking: 'a', signature: 'x' }));
    expect(item.parts).toMatchObject([{ kind: 'reasoning', text: 'a', signature: 'x' }]);
  });

  test('without visible text is kept for its signature', async () => {
    const { item } = await read(thinkingBlock({ thinking: '', signature: '' }, sign(0, 'x')));
    expect(item.parts).toMatchObject([{ kind: 'reasoning', text: '', signature: 'x' }]);
  });

  test('without a signature is not sent back, and without content is not a part', async () => {
    const { item } = await read(thinkingBlock({ thinking: '' }, think(0, 'a')));
    expect(item.parts).toEqual([{ kind: 'reasoning', form: 'full', text: 'a' }]);
    expect((await read(thinkingBlock({ thinking: '', signature: '' }))).item.parts).toEqual([]);
  });

  test('E27: joined halves stay signed; what had to be mended is not', async () => {
    const deltas = (text: string) => [...text].map((_, at) => think(0, text.charAt(at)));
    const joined = await read(
      thinkingBlock({ thinking: '' }, think(0, '\ud83c'), think(0, '\udf0a'), sign(0, 'x')),
    );
    expect(joined.item.parts).toMatchObject([{ text: '\u{1f30a}', signature: 'x' }]);
    const mended = await read(thinkingBlock({ thinking: '' }, ...deltas('a\ud83cb'), sign(0, 'x')));
    expect(mended.item.parts).toEqual([{ kind: 'reasoning', form: 'full', text: 'a\ufffdb' }]);
  });

  test('can have a very long signature', async () => {
    const signature = 's'.repeat(300_000);
    const { item, error } = await read(thinkingBlock({ thinking: '' }, sign(0, signature)));
    expect(error).toBeUndefined();
    expect(item.parts).toEqual([
      { kind: 'reasoning', form: 'full', text: '', providerState: state({ signature }) },
    ]);
  });

  test('trap: redacted thinking comes whole at the start', async () => {
    const { item } = await read(
      message([
        begin(0, { type: 'redacted_thinking', data: 'opaque' }),
        stop(0),
        ...textBlock(1, 'a'),
      ]),
    );
    expect(item.parts).toEqual([
      { kind: 'reasoning', form: 'redacted', text: '', providerState: state({ data: 'opaque' }) },
      { kind: 'text', text: 'a' },
    ]);
  });
});

describe('tool calls', () => {
  test('stream their arguments and end with their block', async () => {
    const found = await read(message(callBlock(0, {}, '', '{"port"', ':"Brest"}'), 'tool_use'));
    expect(found.item.parts).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'toolu_0',
        name: 'tide',
        arguments: '{"port":"Brest"}',
        input: { port: 'Brest' },
      },
    ]);
    expect(found.stop).toEqual({ reason: 'tool_use', raw: 'tool_use' });
  });

  test('trap, E11: input {} and one empty fragment mean no arguments', async () => {
    const found = await read(message(callBlock(0, {}, ''), 'tool_use'));
    expect(callsOf(found)).toMatchObject([{ arguments: '', input: {} }]);
  });

  const cutReasons = [
    'max_tokens',
    'model_context_window_exceeded',
    'refusal',
    'sensitive',
    'tired',
  ];

  test.each(cutReasons)('E11: at %s the call that the answer was at is partial', async (raw) => {
    const unstopped = (...pieces: readonly string[]) => callBlock(1, {}, ...pieces).slice(0, -1);
    const cuts = [
      unstopped(),
      unstopped(''),
      unstopped('{"port":"Br'),
      callBlock(1, {}),
      callBlock(1, {}, ''),
      callBlock(1, {}, '{"port":"Br'),
    ];
    for (const blocks of cuts) {
      // Another block came after it, so the first call is complete and has no arguments.
      const found = await read(message([...callBlock(0, {}, ''), ...blocks], raw));
      const [first, second] = callsOf(found);
      expect(first).toMatchObject({ toolCallId: 'toolu_0', input: {} });
      expect(first).not.toHaveProperty('partial');
      expect(second).toMatchObject({ toolCallId: 'toolu_1', partial: true });
      expect(second).not.toHaveProperty('input');
    }
  });

  test.each(cutReasons)('E11: at %s a call that is whole stays', async (raw) => {
    const whole = [
      callBlock(0, {}, '{"port":', '"Brest"}'),
      callBlock(0, { input: { port: 'Brest' } }),
      [...callBlock(0, {}, ''), ...textBlock(1, 'And n')],
    ];
    for (const blocks of whole) {
      const [found] = callsOf(await read(message(blocks, raw)));
      expect(found).toHaveProperty('input');
      expect(found).not.toHaveProperty('partial');
    }
  });

  test.each(['tool_use', 'end_turn', 'stop_sequence', 'pause_turn'])(
    'E11: at %s no arguments mean {}',
    async (raw) => {
      for (const blocks of [callBlock(0, {}, ''), callBlock(0, {}).slice(0, -1)]) {
        const found = await read(message(blocks, raw));
        expect(callsOf(found)).toMatchObject([{ arguments: '', input: {} }]);
      }
    },
  );

  test('trap, E14: input that is whole at the start is not lost', async () => {
    const call = (input: unknown) => callBlock(0, { input } as JsonObject);
    const cases: readonly (readonly [unknown, string])[] = [
      [{ port: 'Brest' }, '{"port":"Brest"}'],
      ['{"a":1}', '{"a":1}'],
      [null, ''],
      [[1], '[1]'],
    ];
    for (const [input, text] of cases) {
      const found = await read(message(call(input), 'tool_use'));
      expect(callsOf(found).map((part) => part.arguments)).toEqual([text]);
    }
  });

  test('E14: a fragment that is a value is its text', async () => {
    const { item } = await read(
      message(
        [
          begin(0, { type: 'tool_use', id: 'a', name: 'tide', input: {} }),
          grow(0, { type: 'input_json_delta', partial_json: { port: 'Brest' } }),
          grow(0, { type: 'input_json_delta', partial_json: null }),
          stop(0),
        ],
        'tool_use',
      ),
    );
    expect(item.parts).toMatchObject([{ arguments: '{"port":"Brest"}' }]);
  });

  test('trap: the whole call and the stop reason in message_start, without message_delta', async () => {
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' };
    const container = { id: 'container_1', expires_at: '2026-01-01T00:00:00Z' };
    const found = await read([
      started({
        content: [
          { type: 'tool_use', id: 'toolu_1', name: 'tide', input: { port: 'Brest' }, caller },
        ],
        stop_reason: 'tool_use',
        container,
        usage: { input_tokens: 0, output_tokens: 0 },
      }),
      over,
    ]);
    expect(callsOf(found)).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'toolu_1',
        name: 'tide',
        arguments: '{"port":"Brest"}',
        input: { port: 'Brest' },
        providerState: state({ caller, container }),
      },
    ]);
    expect(found.stop).toEqual({ reason: 'tool_use', raw: 'tool_use' });
    // Zero tokens are no report.
    expect(found.usage.estimated).toBe(true);
  });

  test('made by the model itself have no container', async () => {
    const caller = { type: 'direct' };
    const blocks = callBlock(0, { caller }, '{}');
    const found = await read([
      started(),
      ...blocks,
      ended('tool_use', { container: { id: 'c' } }),
      over,
    ]);
    expect(callsOf(found)).toMatchObject([{ providerState: state({ caller }) }]);
    expect(JSON.stringify(found.item)).not.toContain('container');
  });

  test('interleave, and end in any order', async () => {
    const found = await read(
      message(
        [
          begin(1, { type: 'tool_use', id: 'a', name: 'tide', input: {} }),
          begin(2, { type: 'tool_use', id: 'b', name: 'wind', input: {} }),
          write(2, '{"x"'),
          write(1, '{"y"'),
          write(2, ':1}'),
          stop(2),
          write(1, ':2}'),
          stop(1),
        ],
        'tool_use',
      ),
    );
    expect(callsOf(found).map((part) => [part.name, part.arguments])).toEqual([
      ['tide', '{"y":2}'],
      ['wind', '{"x":1}'],
    ]);
  });

  test('E17: the same tool with the same arguments twice is two calls', async () => {
    const found = await read(
      message([...callBlock(0, {}, '{}'), ...callBlock(1, {}, '{}')], 'tool_use'),
    );
    expect(callsOf(found)).toHaveLength(2);
  });

  test('E18: ids that are missing, odd or taken are replaced by our own', async () => {
    const ids = ['', 'a\u0000b', 'x'.repeat(2000), 'good', 'good'];
    const found = await read(
      message(
        ids.flatMap((id, index) => callBlock(index, { id }, '{}')),
        'tool_use',
      ),
    );
    const given = callsOf(found).map((part) => part.toolCallId);
    expect(given).toEqual(['call1', 'call2', 'call3', 'good', 'call4']);
  });

  test('a start that comes twice is one call', async () => {
    const start = begin(0, { type: 'tool_use', id: 'a', name: 'tide', input: {} });
    const found = await read(message([start, start, write(0, '{}'), stop(0)], 'tool_use'));
    expect(callsOf(found)).toMatchObject([{ toolCallId: 'a', arguments: '{}' }]);
  });

  test('E26: arguments that are not JSON stay unchanged, and the agent loop handles them', async () => {
    const found = await read(message(callBlock(0, {}, '{"port": Brest'), 'tool_use'));
    expect(callsOf(found)).toEqual([
      { kind: 'tool_call', toolCallId: 'toolu_0', name: 'tide', arguments: '{"port": Brest' },
    ]);
    expect(found.stop.reason).toBe('tool_use');
  });

  test('E29: __proto__ in arguments and in input at the start is data', async () => {
    const text = '{"__proto__":{"a":1}}';
    const found = await read(message(callBlock(0, {}, text), 'tool_use'));
    expect(Object.hasOwn(callsOf(found)[0]?.input as object, '__proto__')).toBe(true);
    const raw = JSON.stringify(begin(0, { type: 'tool_use', id: 'a', name: 'x', input: {} }));
    const whole = await read([
      started(),
      raw.replace('"input":{}', `"input":${text}`),
      stop(0),
      ended('tool_use'),
      over,
    ]);
    expect(callsOf(whole)).toMatchObject([{ arguments: text }]);
  });

  test('a block that is not stopped ends with the message', async () => {
    const [start, piece] = callBlock(0, {}, '{}');
    const found = await read([started(), start ?? {}, piece ?? {}, ended('tool_use'), over]);
    expect(callsOf(found)).toMatchObject([{ arguments: '{}' }]);
  });

  test('a call without a name, or arguments without a call, is a protocol error', async () => {
    const nameless = await read(message(callBlock(0, { name: '' }, '{}'), 'tool_use'));
    expect(nameless.error?.kind).toBe('protocol_error');
    const homeless = await read(message([write(4, '{"a":1}')], 'tool_use'));
    expect(homeless.error?.kind).toBe('protocol_error');
    expect([...nameless.item.parts, ...homeless.item.parts]).toEqual([]);
  });
});

describe('other blocks', () => {
  test.each(['server_tool_use', 'mcp_tool_use'])(
    'trap, E30: %s starts with {} and streams its arguments',
    async (type) => {
      const start = { type, id: 'srvtoolu_1', name: 'echo', input: {}, server_name: 'echo' };
      const found = await read(
        message([
          begin(0, start),
          write(0, ''),
          write(0, '{"message": "hel'),
          write(0, 'lo"}'),
          stop(0),
        ]),
      );
      expect(found.item.parts).toEqual([
        {
          kind: 'custom',
          name: type,
          value: { ...start, input: { message: 'hello' } },
          providerState: state({}),
        },
      ]);
      // A call that the provider runs is not a client call.
      expect(found.stop).toEqual({ reason: 'stop', raw: 'end_turn' });
    },
  );

  test('a hosted call without arguments has the input that it started with', async () => {
    const start = { type: 'server_tool_use', id: 's', name: 'advisor', input: { depth: 2 } };
    const { item } = await read(message([begin(0, start), write(0, ''), stop(0)]));
    expect(item.parts).toMatchObject([{ value: start }]);
  });

  test('E26: hosted arguments that are not JSON are kept as text', async () => {
    const start = { type: 'server_tool_use', id: 's', name: 'x', input: {} };
    const { item } = await read(message([begin(0, start), write(0, '{"a'), stop(0)]));
    expect(item.parts).toMatchObject([{ value: { ...start, input: '{"a' } }]);
  });

  test.each([
    { type: 'web_search_tool_result', tool_use_id: 's', content: [{ encrypted_content: 'e' }] },
    { type: 'mcp_tool_result', tool_use_id: 's', is_error: false, content: [] },
    { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } },
    { type: 'container_upload', file_id: 'f' },
    { type: 'hologram', frames: 3 },
  ])('trap: $type comes whole at the start and is kept with all of its data', async (start) => {
    const { item } = await read(message([begin(0, start), stop(0), ...textBlock(1, 'a')]));
    expect(item.parts).toEqual([
      { kind: 'custom', name: start.type, value: start, providerState: state({}) },
      { kind: 'text', text: 'a' },
    ]);
  });

  test('a compaction streams into its content', async () => {
    const grown = (content: string) => grow(0, { type: 'compaction_delta', content });
    const { item } = await read(
      message([
        begin(0, { type: 'compaction', content: null }),
        grown('Sum'),
        grown('mary'),
        stop(0),
      ]),
    );
    expect(item.parts).toMatchObject([{ value: { type: 'compaction', content: 'Summary' } }]);
  });

  test('fields that stream into an unknown block are added to it', async () => {
    const { item } = await read(
      message([
        begin(0, { type: 'hologram', caption: 'a', citations: [1] }),
        grow(0, { type: 'hologram_delta', caption: 'b', frame: 'x' }),
        grow(0, { type: 'hologram_delta', frame: 'y', size: 4, gone: null }),
        grow(0, { type: 'citations_delta', citation: { url: 'u' } }),
        stop(0),
      ]),
    );
    const value = {
      type: 'hologram',
      caption: 'ab',
      frame: 'xy',
      size: 4,
      citations: [1, { url: 'u' }],
    };
    expect(item.parts).toMatchObject([{ name: 'hologram', value }]);
  });

  test('a hosted call shows itself while it streams', async () => {
    const start = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
    const { fetch } = fetchOf([
      sseOf([started(), begin(0, start)]),
      sseOf(message([stop(0)]).slice(1)),
    ]);
    const provider = anthropic({ model, apiKey: 'k', fetch });
    const seen: string[][] = [];
    await provider.complete(
      { items: [] },
      { onStep: ({ deltas }) => seen.push(deltas.map(({ type }) => type)) },
    );
    expect(seen[0]).toEqual(['begin_part', 'replace_structured']);
  });
});

describe('structured output', () => {
  const output = { name: 'answer', schema: { type: 'object', properties: {} } };
  const request: ModelRequest = { items: [], output };

  test('is text that becomes a value', async () => {
    const { item } = await read(message(textBlock(0, '{"a"', ':1}')), { request });
    expect(item.parts).toEqual([{ kind: 'structured', name: 'answer', value: { a: 1 } }]);
  });

  test('of several blocks is as many parts, since each goes back as it came', async () => {
    const blocks = [
      ...textBlock(0, '{"a":'),
      begin(1, { type: 'thinking', thinking: 'hm', signature: 'x' }),
      stop(1),
      ...textBlock(2, '1}'),
    ];
    const { item } = await read(message(blocks), { request });
    expect(item.parts).toMatchObject([
      { kind: 'text', text: '{"a":' },
      { kind: 'reasoning' },
      { kind: 'text', text: '1}' },
    ]);
  });

  const asTool = { request, structuredOutput: 'tool' } as const;

  test('of a forced tool is its input, and no call', async () => {
    const found = await read(
      message(
        [...textBlock(0, '{"no":1}'), ...callBlock(1, { name: 'answer' }, '', '{"a"', ':1}')],
        'tool_use',
      ),
      asTool,
    );
    expect(found.item.parts).toEqual([
      // Text next to the output is not the output, even if it is JSON.
      { kind: 'text', text: '{"no":1}' },
      { kind: 'structured', name: 'answer', value: { a: 1 } },
    ]);
    expect(found.stop).toEqual({ reason: 'stop', raw: 'tool_use' });
  });

  test('of a forced tool may be whole at the start, or empty', async () => {
    const whole = callBlock(0, { name: 'answer', input: { a: 1 } });
    const empty = callBlock(0, { name: 'answer' }, '');
    expect((await read(message(whole, 'tool_use'), asTool)).item.parts).toMatchObject([
      { value: { a: 1 } },
    ]);
    expect((await read(message(empty, 'tool_use'), asTool)).item.parts).toMatchObject([
      { value: {} },
    ]);
  });

  test.each(['max_tokens', 'refusal'])(
    'E11: of a forced tool is no value where %s cut it, but the text that came',
    async (raw) => {
      const cut = async (blocks: readonly JsonObject[]) =>
        (await read(message(blocks, raw), asTool)).item.parts;
      const answer = (...pieces: readonly string[]) => callBlock(0, { name: 'answer' }, ...pieces);
      for (const blocks of [answer(''), answer(), answer('').slice(0, -1)]) {
        expect(await cut(blocks)).toEqual([]);
      }
      const half = { kind: 'text', text: '{"a":', mimeType: 'application/json', partial: true };
      expect(await cut(answer('', '{"a":'))).toEqual([half]);
      expect(await cut(answer('{"a":').slice(0, -1))).toEqual([half]);
      expect(await cut(answer('{"a":1}'))).toMatchObject([{ value: { a: 1 } }]);
    },
  );

  test('of a forced tool leaves calls of other tools alone, also of one with its name', async () => {
    const tools = [{ name: 'answer', inputSchema: {} }];
    const found = await read(
      message(
        [
          ...callBlock(0, { name: 'answer' }, '{}'),
          ...callBlock(1, { name: 'answer_1' }, '{"a":1}'),
        ],
        'tool_use',
      ),
      { ...asTool, request: { ...request, tools } },
    );
    expect(found.item.parts.map(({ kind }) => kind)).toEqual(['tool_call', 'structured']);
    expect(found.stop).toEqual({ reason: 'tool_use', raw: 'tool_use' });
  });
});

describe('the end', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['sensitive', 'content_filter'],
    ['refusal', 'refusal'],
    ['pause_turn', 'pause'],
    ['compaction', 'unknown'],
    ['tired', 'unknown'],
    ['__proto__', 'unknown'],
  ])('stop reason %s is %s', async (raw, reason) => {
    expect((await read(message(textBlock(0, 'a'), raw))).stop).toEqual({ reason, raw });
  });

  test('end_turn with a call is tool_use, and a cut answer never is', async () => {
    const reasonOf = async (raw: string) =>
      (await read(message(callBlock(0, {}, '{}'), raw))).stop.reason;
    expect(await Promise.all(['end_turn', 'stop_sequence'].map(reasonOf))).toEqual([
      'tool_use',
      'tool_use',
    ]);
    expect(
      await Promise.all(['max_tokens', 'refusal', 'sensitive', 'pause_turn'].map(reasonOf)),
    ).toEqual(['length', 'refusal', 'content_filter', 'pause']);
  });

  test('tool_use without any call is visibly stop', async () => {
    const { stop: why } = await read(message(textBlock(0, 'a'), 'tool_use'));
    expect(why).toEqual({ reason: 'stop', raw: 'tool_use', cause: 'no_tool_call' });
  });

  test('trap: a refusal can have zero blocks; its details say why', async () => {
    const stop_details = {
      type: 'refusal',
      category: 'cyber',
      explanation: 'Blocked by policy.',
      recommended_model: 'other',
    };
    const { item, stop: why } = await read([started(), ended('refusal', { stop_details }), over]);
    expect(why).toEqual({ reason: 'refusal', raw: 'refusal', cause: 'cyber' });
    expect(item.parts).toEqual([
      {
        kind: 'text',
        text: 'Blocked by policy.',
        metadata: { refusal: true, isExplanation: true },
        providerState: state({ stop_details }),
      },
    ]);
    expect((await read([started(), ended('refusal'), over])).item.parts).toEqual([]);
  });

  test('a pause keeps its container', async () => {
    const container = { id: 'container_1' };
    const { item } = await read([started(), ended('pause_turn', { container }), over]);
    expect(item.parts).toMatchObject([{ kind: 'custom', name: 'container', value: container }]);
  });

  test('E16: sent twice it is one end, and the last reason counts', async () => {
    const blocks = callBlock(0, {}, '{}');
    const found = await read([
      started(),
      ...blocks,
      ended('end_turn'),
      ended(null),
      ended('tool_use'),
      over,
    ]);
    expect(found.stop).toEqual({ reason: 'tool_use', raw: 'tool_use' });
    expect(callsOf(found)).toHaveLength(1);
  });

  test('without a reason is unknown', async () => {
    const { stop: why } = await read([started(), ...textBlock(0, 'a'), ended(null), over]);
    expect(why).toEqual({ reason: 'unknown', cause: 'no_stop_reason' });
  });

  test('E32: nothing after message_stop is read', async () => {
    const found = await read([
      ...message(textBlock(0, 'a')),
      over,
      started({ id: 'msg_2' }),
      ...textBlock(0, 'b'),
      ended('max_tokens'),
      over,
    ]);
    expect(textOf(found)).toEqual(['a']);
    expect(found.stop.reason).toBe('stop');
  });
});

describe('starts of messages', () => {
  test('trap: message_start twice with one id is one message', async () => {
    const found = await read([started(), started(), ...message(textBlock(0, 'a'))]);
    expect(textOf(found)).toEqual(['a']);
    expect(found.error).toBeUndefined();
  });

  test('trap: another message that starts while one is open is fatal', async () => {
    const found = await read([
      started(),
      begin(0, { type: 'text', text: '' }),
      say(0, 'a'),
      started({ id: 'msg_2' }),
      ...message(textBlock(0, 'b')).slice(1),
    ]);
    expect(found.error?.kind).toBe('protocol_error');
    expect(found.item.parts).toEqual([{ kind: 'text', text: 'a', partial: true }]);
  });

  test('a second start without an id is another message if there is content', async () => {
    const nameless = started({ id: null });
    const early = await read([nameless, nameless, ...textBlock(0, 'a'), ended('end_turn'), over]);
    expect(early.error).toBeUndefined();
    const late = await read([nameless, ...textBlock(0, 'a'), nameless, ended('end_turn'), over]);
    expect(late.error?.kind).toBe('protocol_error');
  });

  test('may be missing', async () => {
    expect(textOf(await read(message(textBlock(0, 'a')).slice(1)))).toEqual(['a']);
  });
});

describe('an answer in one piece', () => {
  const json = { headers: { 'content-type': 'application/json' } };
  const whole = {
    id: 'msg_1',
    type: 'message',
    model: 'claude-x',
    content: [
      { type: 'thinking', thinking: 'a', signature: 'x' },
      { type: 'text', text: 'b' },
      { type: 'tool_use', id: 'toolu_1', name: 'tide', input: { port: 'Brest' } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 4 },
  };

  test('is read as if it had streamed', async () => {
    const found = await answerTo(JSON.stringify(whole), { init: json });
    expect(found.item.parts).toMatchObject([
      { kind: 'reasoning', text: 'a', signature: 'x' },
      { kind: 'text', text: 'b' },
      { kind: 'tool_call', arguments: '{"port":"Brest"}' },
    ]);
    expect(found.stop.reason).toBe('tool_use');
    expect(found.usage).toMatchObject({ input: 3, output: 4, estimated: false });
    expect(found).toMatchObject({ model: 'claude-x', responseId: 'msg_1' });
  });

  test('of another API is a protocol error, in one piece or streamed', async () => {
    const chat = { choices: [{ message: { content: 'a' } }] };
    expect((await answerTo(JSON.stringify(chat), { init: json })).error?.kind).toBe(
      'protocol_error',
    );
    expect((await read([chat])).error?.kind).toBe('protocol_error');
    expect((await answerTo('[]', { init: json })).error?.kind).toBe('protocol_error');
  });
});

describe('failures', () => {
  const rich = [
    started(),
    begin(0, { type: 'thinking', thinking: '', signature: '' }),
    think(0, 'hm'),
    sign(0, 'x'),
    stop(0),
    ...textBlock(1, 'High ', 'water'),
    begin(2, { type: 'server_tool_use', id: 's', name: 'x', input: {} }),
    write(2, '{}'),
    stop(2),
    ...callBlock(3, {}, '{"a"', ':1}'),
    ended('tool_use'),
    over,
  ];

  test('E25: cut after any event before message_stop it is truncated, and open calls are gone', async () => {
    for (let length = 0; length < rich.length; length++) {
      const found = await read(rich.slice(0, length));
      expect(found.error?.kind).toBe('truncated_stream');
      expect(found.stop.reason).toBe('error');
      for (const call of callsOf(found)) expect(call.arguments).toBe('{"a":1}');
      for (const part of found.item.parts) expect(part.partial ? isSpeech(part) : true).toBe(true);
    }
    expect((await read(rich)).error).toBeUndefined();
  });

  const isSpeech = ({ kind }: Part) => kind === 'text' || kind === 'reasoning';

  test('E24: an empty answer is truncated; only reasoning with max_tokens is valid', async () => {
    expect((await read([])).error?.kind).toBe('truncated_stream');
    const found = await read([
      started(),
      begin(0, { type: 'thinking' }),
      think(0, 'a'),
      ended('max_tokens'),
      over,
    ]);
    expect(found.error).toBeUndefined();
    expect(found.stop.reason).toBe('length');
  });

  const overloaded = {
    type: 'error',
    error: { type: 'overloaded_error', message: 'Overloaded' },
    request_id: 'req_1',
  };

  test.each([
    ['as the first event of a 200', []],
    ['in the middle', rich.slice(0, 7)],
  ])('trap: an error %s is reported', async (_where, before) => {
    const body = `${sseOf(before)}event: error\ndata: ${JSON.stringify(overloaded)}\n\n`;
    const { error, stop: why } = await answerTo(body);
    expect(error).toMatchObject({ kind: 'overloaded', retry: 'yes', requestId: 'req_1' });
    expect(why).toEqual({ reason: 'error', raw: 'overloaded_error', cause: 'overloaded' });
  });

  test.each([
    [
      400,
      'invalid_request_error',
      'prompt is too long: 250000 tokens > 200000 maximum',
      'context_overflow',
    ],
    [
      400,
      'invalid_request_error',
      'messages.1.content.0: Invalid `signature` in `thinking` block',
      'history_rejected',
    ],
    [400, 'invalid_request_error', 'Your credit_balance is too low', 'quota'],
    [400, 'invalid_request_error', 'max_tokens: Field required', 'invalid_request'],
    [401, 'authentication_error', 'invalid x-api-key', 'auth'],
    [403, 'permission_error', 'no', 'permission'],
    [404, 'not_found_error', 'model: x', 'invalid_request'],
    [413, 'request_too_large', 'too large', 'context_overflow'],
    [429, 'rate_limit_error', 'slow down', 'rate_limit'],
    [500, 'api_error', 'oops', 'server'],
    [529, 'overloaded_error', 'Overloaded', 'overloaded'],
  ])('status %i %s: %s is %s', async (status, type, text, kind) => {
    const body = { type: 'error', error: { type, message: text }, request_id: 'req_1' };
    const { error } = await answerTo(JSON.stringify(body), { init: { status } });
    expect(error).toMatchObject({ kind, status, providerCode: type, requestId: 'req_1' });
  });

  test('a 429 at a spend limit is a quota', async () => {
    const details = { error_code: 'enforced_spend_limit_reached' };
    const body = { type: 'error', error: { type: 'rate_limit_error', message: 'no', details } };
    const { error } = await answerTo(JSON.stringify(body), { init: { status: 429 } });
    expect(error?.kind).toBe('quota');
  });

  test('an event that is not JSON ends it', async () => {
    const found = await read([
      started(),
      ...textBlock(0, 'a'),
      '{"type":',
      ended('end_turn'),
      over,
    ]);
    expect(found.error?.kind).toBe('protocol_error');
  });
});

describe('usage', () => {
  const use = (first: JsonObject, last?: JsonObject) =>
    read([
      started({ usage: first }),
      ...textBlock(0, 'a'),
      { ...ended('end_turn'), ...(last === undefined ? { usage: null } : { usage: last }) },
      over,
    ]);

  test('trap: input leaves the cache out, and so it is added', async () => {
    const { usage } = await use(
      {
        input_tokens: 5,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 20,
        output_tokens: 1,
      },
      { output_tokens: 9 },
    );
    expect(usage).toEqual({
      input: 125,
      output: 9,
      cacheRead: 100,
      cacheWrite: 20,
      reasoning: 0,
      estimated: false,
      costs: [],
    });
  });

  test('trap: message_delta is cumulative, may raise the input, and null changes nothing', async () => {
    const { usage } = await use(
      {
        input_tokens: 43,
        cache_read_input_tokens: 200,
        cache_creation_input_tokens: 10,
        output_tokens: 1,
      },
      { input_tokens: 61, cache_creation_input_tokens: null, output_tokens: 12 },
    );
    expect(usage).toMatchObject({ input: 61 + 200 + 10, output: 12, estimated: false });
  });

  test('trap: the top level leaves compactions out; other iterations are in it or billed apart', async () => {
    const of = (type: string, input_tokens: number, output_tokens: number) => ({
      type,
      input_tokens,
      output_tokens,
      cache_read_input_tokens: 1,
    });
    const { usage } = await use(
      { input_tokens: 60_385, output_tokens: 5 },
      {
        input_tokens: 612,
        output_tokens: 2819,
        iterations: [
          of('compaction', 60_385, 522),
          of('message', 600, 2000),
          of('fallback_message', 12, 819),
          of('advisor_message', 7000, 7000),
        ],
      },
    );
    expect(usage).toMatchObject({ input: 612 + 60_385 + 1, output: 2819 + 522, cacheRead: 1 });
  });

  test('knows how much of the output was thinking', async () => {
    const { usage } = await use(
      { input_tokens: 1, output_tokens: 1 },
      { output_tokens: 9, output_tokens_details: { thinking_tokens: 6 } },
    );
    expect(usage).toMatchObject({ output: 9, reasoning: 6 });
  });

  test('without a final report is an estimate', async () => {
    const { usage } = await use({ input_tokens: 5, output_tokens: 1 });
    expect(usage).toMatchObject({ input: 5, estimated: true });
    const half = await use({ input_tokens: 5, output_tokens: 1 }, { input_tokens: 7 });
    expect(half.usage).toMatchObject({ input: 7, estimated: true });
    const cut = await read([started(), begin(0, { type: 'text' }), say(0, 'x'.repeat(400))]);
    expect(cut.usage).toMatchObject({ input: 10, output: 100, estimated: true });
  });
});

describe('any message', () => {
  interface Block {
    readonly kind: 'text' | 'thinking' | 'tool_use';
    readonly text: string;
    readonly cuts: readonly number[];
  }

  const block: fc.Arbitrary<Block> = fc.record({
    kind: fc.constantFrom('text', 'thinking', 'tool_use'),
    text: fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
    cuts: fc.array(fc.nat(60), { maxLength: 6 }),
  });

  /** Cuts can be anywhere, also inside a surrogate pair. */
  const pieces = ({ text, cuts }: Block): readonly string[] => {
    const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
    return at.slice(1).map((end, index) => text.slice(at[index], end));
  };

  const startOf = ({ kind }: Block, index: number): JsonObject => {
    if (kind === 'text') return { type: kind, text: '' };
    if (kind === 'thinking') return { type: kind, thinking: '', signature: `s${index}` };
    return { type: kind, id: `t${index}`, name: 'tide', input: {} };
  };

  const deltaOf = ({ kind }: Block, index: number, piece: string): JsonObject => {
    if (kind === 'text') return say(index, piece);
    return kind === 'thinking' ? think(index, piece) : write(index, piece);
  };

  test('folds to its blocks, whatever the fragments and however they interleave', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(block, { maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 60 }),
        async (blocks, picks) => {
          const lanes = blocks.map((one, index) => [
            ...pieces(one).map((piece) => deltaOf(one, index, piece)),
            stop(index),
          ]);
          const mixed: JsonObject[] = [];
          for (const pick of picks)
            mixed.push(...(lanes[pick % (lanes.length || 1)]?.splice(0, 1) ?? []));
          const starts = blocks.map((one, index) => begin(index, startOf(one, index)));
          const { item, error } = await read(message([...starts, ...mixed, ...lanes.flat()]));
          expect(error).toBeUndefined();
          expect(item.parts.map(contentOf)).toEqual(blocks.map(({ text }) => text));
        },
      ),
    );
  });

  const contentOf = (part: Part): string => {
    if (part.kind === 'tool_call') return part.arguments;
    return 'text' in part ? part.text : '';
  };
});
