import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { countingIds, type Item, type Part } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Completion, StreamStep } from '../contract/provider.ts';
import { type AiSdkModel, fromAiSdk } from './index.ts';

type V4Part = LanguageModelV4StreamPart;

const usage: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 3, cacheWrite: 1 },
  outputTokens: { total: 7, text: 5, reasoning: 2 },
};
const finish: V4Part = {
  type: 'finish',
  usage,
  finishReason: { unified: 'stop', raw: 'end_turn' },
};
const finishWith = (unified: string, raw?: string): V4Part =>
  ({ type: 'finish', usage, finishReason: { unified, raw } }) as V4Part;
const text = (...deltas: string[]): V4Part[] => [
  { type: 'text-start', id: 't' },
  ...deltas.map((delta): V4Part => ({ type: 'text-delta', id: 't', delta })),
  { type: 'text-end', id: 't' },
];
const input = (id: string, toolName: string, ...deltas: string[]): V4Part[] => [
  { type: 'tool-input-start', id, toolName },
  ...deltas.map((delta): V4Part => ({ type: 'tool-input-delta', id, delta })),
  { type: 'tool-input-end', id },
];
const call = (toolCallId: string, toolName: string, whole: string): V4Part => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: whole,
});

function modelOf(
  parts: readonly unknown[],
  specificationVersion: AiSdkModel['specificationVersion'] = 'v4',
): AiSdkModel {
  return {
    specificationVersion,
    provider: 'maker',
    modelId: 'm-1',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('never called')),
    doStream: async () => ({ stream: ReadableStream.from(parts) }),
  } as unknown as LanguageModelV4 | LanguageModelV3 | LanguageModelV2;
}

interface ReadAnswer extends Completion {
  readonly parts: readonly Part[];
  readonly steps: readonly StreamStep[];
}

async function readAnswer(
  parts: readonly unknown[],
  request: Partial<ModelRequest> = {},
  version: AiSdkModel['specificationVersion'] = 'v4',
): Promise<ReadAnswer> {
  const steps: StreamStep[] = [];
  const completion = await fromAiSdk(modelOf(parts, version)).complete(
    { items: [], ...request },
    { ids: countingIds(), onStep: (step) => steps.push(step) },
  );
  return { ...completion, parts: completion.item.parts, steps };
}

const state = (data: object) => ({ provider: 'maker', model: 'm-1', data });

describe('text and reasoning', () => {
  test('text arrives unchanged, including equal and empty deltas', async () => {
    const { parts, stop, error } = await readAnswer([...text('a', 'a', '', ' b\n'), finish]);
    expect(parts).toEqual([{ kind: 'text', text: 'aa b\n' }]);
    expect(stop).toEqual({ reason: 'stop', raw: 'end_turn' });
    expect(error).toBeUndefined();
  });

  test('blocks that stream at the same time are kept apart by their ids', async () => {
    const { parts } = await readAnswer([
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'on' },
      { type: 'text-start', id: '2' },
      { type: 'text-delta', id: '2', delta: 'tw' },
      { type: 'text-delta', id: '1', delta: 'e' },
      { type: 'text-delta', id: '2', delta: 'o' },
      { type: 'text-end', id: '2' },
      { type: 'text-end', id: '1' },
      finish,
    ]);
    expect(parts.map((part) => part.kind === 'text' && part.text)).toEqual(['one', 'two']);
  });

  test('an id that is used again after its end begins a new part, for text and reasoning alike', async () => {
    const thought = (delta: string): V4Part[] => [
      { type: 'reasoning-start', id: 't' },
      { type: 'reasoning-delta', id: 't', delta },
      { type: 'reasoning-end', id: 't' },
    ];
    const { parts } = await readAnswer([
      ...thought('x'),
      ...text('y'),
      ...thought('z'),
      ...text('w'),
      finish,
    ]);
    expect(parts.map((part) => [part.kind, 'text' in part && part.text])).toEqual([
      ['reasoning', 'x'],
      ['text', 'y'],
      ['reasoning', 'z'],
      ['text', 'w'],
    ]);
  });

  test('a start of an id that is open ends the block before it', async () => {
    const { parts } = await readAnswer([...text('a').slice(0, 2), ...text('b'), finish]);
    expect(parts.map((part) => part.kind === 'text' && part.text)).toEqual(['a', 'b']);
  });

  test('a delta without a start, and a block without an end, lose nothing', async () => {
    const { parts } = await readAnswer([
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'text-delta', id: 't', delta: 'yes' },
      finish,
    ]);
    expect(parts).toEqual([
      { kind: 'reasoning', text: 'hm', form: 'full', providerState: state({}) },
      { kind: 'text', text: 'yes' },
    ]);
  });

  test('a text and a reasoning without a character and without metadata leave no part', async () => {
    const empty: V4Part[] = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-end', id: 'r' },
    ];
    const { parts } = await readAnswer([...empty, ...text(), finish]);
    expect(parts).toEqual([]);
  });

  test('metadata becomes the state of the part, the last that came counts, and undefined fields go', async () => {
    const { parts } = await readAnswer([
      { type: 'reasoning-start', id: 'r', providerMetadata: { a: { sig: 'old' } } },
      { type: 'reasoning-delta', id: 'r', delta: 'x', providerMetadata: { a: { sig: 'mid' } } },
      { type: 'reasoning-end', id: 'r', providerMetadata: { a: { sig: 'new', no: undefined } } },
      { type: 'text-start', id: 't', providerMetadata: { a: { itemId: 'i' } } },
      { type: 'text-delta', id: 't', delta: 'y' },
      { type: 'text-end', id: 't' },
      finish,
    ]);
    expect(parts).toEqual([
      { kind: 'reasoning', text: 'x', form: 'full', providerState: state({ a: { sig: 'new' } }) },
      { kind: 'text', text: 'y', providerState: state({ a: { itemId: 'i' } }) },
    ]);
  });

  test('unreadable reasoning is kept with its metadata, at its position', async () => {
    const { parts } = await readAnswer([
      { type: 'reasoning-start', id: 'r' },
      ...text('after'),
      { type: 'reasoning-end', id: 'r', providerMetadata: { a: { redactedData: '…' } } },
      finish,
    ]);
    expect(parts).toEqual([
      {
        kind: 'reasoning',
        text: '',
        form: 'redacted',
        providerState: state({ a: { redactedData: '…' } }),
      },
      { kind: 'text', text: 'after' },
    ]);
  });

  test('halves of a surrogate pair in two deltas make one character', async () => {
    const { parts } = await readAnswer([...text('\ud83d', '\ude00'), finish]);
    expect(parts).toEqual([{ kind: 'text', text: '😀' }]);
  });

  test('text for an output schema becomes a structured part; invalid JSON stays text', async () => {
    const request = { output: { name: 'city', schema: {} } };
    const { parts } = await readAnswer(
      [...text('{"a":', '1}'), ...text('Sorry.'), finish],
      request,
    );
    expect(parts).toEqual([
      { kind: 'structured', name: 'city', value: { a: 1 } },
      { kind: 'text', text: 'Sorry.', mimeType: 'application/json' },
    ]);
  });
});

describe('tool calls', () => {
  test('a call whose input streamed is committed with the input as it streamed', async () => {
    const { parts, stop, steps } = await readAnswer([
      ...input('c1', 'read', '{"pa', 'th": "x"}'),
      call('c1', 'read', '{"path": "x"}'),
      finishWith('tool-calls', 'tool_use'),
    ]);
    expect(parts).toEqual([
      {
        kind: 'tool_call',
        toolCallId: 'c1',
        name: 'read',
        arguments: '{"path": "x"}',
        input: { path: 'x' },
      },
    ]);
    expect(stop).toEqual({ reason: 'tool_use', raw: 'tool_use' });
    const appended = steps.flatMap(({ deltas }) =>
      deltas.filter(({ type }) => type === 'append_text'),
    );
    expect(appended).toHaveLength(2);
  });

  test('a call that comes without streamed input is whole', async () => {
    const { parts, stop } = await readAnswer([call('c1', 'now', '{}'), finish]);
    expect(parts).toEqual([
      { kind: 'tool_call', toolCallId: 'c1', name: 'now', arguments: '{}', input: {} },
    ]);
    expect(stop).toEqual({ reason: 'tool_use', raw: 'end_turn' });
  });

  test('only what is missing is appended when the final input goes on where the stream ended', async () => {
    const { parts, steps } = await readAnswer([
      ...input('c1', 'read', '{"a"'),
      call('c1', 'read', '{"a":1}'),
      finish,
    ]);
    expect(parts).toMatchObject([{ arguments: '{"a":1}' }]);
    const chunks = steps.flatMap(({ deltas }) =>
      deltas.flatMap((delta) => (delta.type === 'append_text' ? delta.chunk : [])),
    );
    expect(chunks).toEqual(['{"a"', ':1}']);
  });

  test('the final input replaces a stream that it contradicts, and so does the final name', async () => {
    const { parts } = await readAnswer([
      ...input('c1', 'read', '{"a": 1}'),
      ...input('c2', 'red', '{}'),
      call('c1', 'read', '{"a":1}'),
      call('c2', 'read', '{}'),
      finish,
    ]);
    expect(parts).toMatchObject([
      { toolCallId: 'c1', name: 'read', arguments: '{"a":1}' },
      { toolCallId: 'c2', name: 'read', arguments: '{}' },
    ]);
  });

  test('interleaved calls are kept apart, in the order in which they began', async () => {
    const { parts } = await readAnswer([
      { type: 'tool-input-start', id: 'a', toolName: 'one' },
      { type: 'tool-input-start', id: 'b', toolName: 'two' },
      { type: 'tool-input-delta', id: 'b', delta: '{"b"' },
      { type: 'tool-input-delta', id: 'a', delta: '{"a"' },
      { type: 'tool-input-delta', id: 'b', delta: ':2}' },
      { type: 'tool-input-delta', id: 'a', delta: ':1}' },
      call('b', 'two', '{"b":2}'),
      call('a', 'one', '{"a":1}'),
      finish,
    ]);
    expect(parts).toMatchObject([
      { toolCallId: 'a', arguments: '{"a":1}' },
      { toolCallId: 'b', arguments: '{"b":2}' },
    ]);
  });

  test('two equal calls with different ids are two; a repeated call is one', async () => {
    const { parts } = await readAnswer([
      call('a', 'one', '{}'),
      call('b', 'one', '{}'),
      call('a', 'one', '{}'),
      finish,
    ]);
    expect(parts.map((part) => part.kind === 'tool_call' && part.toolCallId)).toEqual(['a', 'b']);
  });

  test('two different calls of one id get an id each', async () => {
    const { parts } = await readAnswer([
      call('a', 'one', '{"x":1}'),
      call('a', 'one', '{"x":2}'),
      finish,
    ]);
    const ids = parts.map((part) => part.kind === 'tool_call' && part.toolCallId);
    expect(new Set(ids).size).toBe(2);
    expect(parts).toMatchObject([{ arguments: '{"x":1}' }, { arguments: '{"x":2}' }]);
  });

  test.each([
    ['empty', ''],
    ['absurdly long', 'x'.repeat(2000)],
    ['with control characters', 'a\u0000b'],
  ])('an id that is %s is replaced by a new one', async (_, id) => {
    const { parts } = await readAnswer([call(id, 'one', '{}'), finish]);
    expect(parts).toMatchObject([{ toolCallId: 'call1', name: 'one' }]);
  });

  test('a call without a name is a protocol error', async () => {
    const { error, parts } = await readAnswer([call('a', '', '{}'), finish]);
    expect(error?.kind).toBe('protocol_error');
    expect(parts).toEqual([]);
  });

  test('arguments that are not JSON stay what the model wrote', async () => {
    const { parts } = await readAnswer([call('a', 'one', '{"x":'), finish]);
    expect(parts).toEqual([
      { kind: 'tool_call', toolCallId: 'a', name: 'one', arguments: '{"x":' },
    ]);
  });

  test('input that streams as plain text is JSON in the part from its first character on', async () => {
    const { parts, steps } = await readAnswer([
      { type: 'tool-input-start', id: 'a', toolName: 'sql', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'a', delta: 'select "x"' },
      { type: 'tool-input-delta', id: 'a', delta: '\nfrom y' },
      call('a', 'sql', JSON.stringify('select "x"\nfrom y')),
      finish,
    ]);
    expect(parts).toMatchObject([{ input: 'select "x"\nfrom y' }]);
    const commits = steps.flatMap(({ deltas }) =>
      deltas.filter(({ type }) => type === 'commit_part'),
    );
    expect(commits).toMatchObject([{ length: JSON.stringify('select "x"\nfrom y').length }]);
  });

  test('the metadata of a call is its state', async () => {
    const metadata = { google: { thoughtSignature: 's' } };
    const signed = { ...call('a', 'one', '{}'), providerMetadata: metadata };
    const { parts } = await readAnswer([...input('a', 'one', '{}'), signed, finish]);
    expect(parts).toMatchObject([{ providerState: state(metadata) }]);
  });

  test('a streamed call that never completes is retracted and does not count as tool use', async () => {
    const { parts, stop } = await readAnswer([
      ...text('I will'),
      ...input('a', 'one', '{"x"'),
      finishWith('tool-calls', 'tool_use'),
    ]);
    expect(parts).toEqual([{ kind: 'text', text: 'I will' }]);
    expect(stop).toEqual({ reason: 'stop', raw: 'tool_use', cause: 'no_tool_call' });
  });

  test('a call is not committed before the end, because packages also complete the calls of a cut stream', async () => {
    const { parts, error, steps } = await readAnswer([
      ...input('a', 'one', '{"x":1}'),
      call('a', 'one', '{"x":1}'),
      finishWith('interrupted'),
    ]);
    expect(error?.kind).toBe('truncated_stream');
    expect(parts).toEqual([]);
    const types = steps.flatMap(({ deltas }) => deltas.map(({ type }) => type));
    expect(types).toEqual(['begin_part', 'append_text', 'retract_part']);
  });
});

describe('hosted tools', () => {
  test('a call that the provider runs is a custom part, no call to run, and does not stream', async () => {
    const { parts, stop, steps } = await readAnswer([
      { type: 'tool-input-start', id: 's', toolName: 'search', providerExecuted: true },
      { type: 'tool-input-delta', id: 's', delta: '{"q":"x"}' },
      { type: 'tool-input-end', id: 's' },
      {
        ...call('s', 'search', '{"q":"x"}'),
        providerExecuted: true,
        providerMetadata: { a: { itemId: 'i' } },
      },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { hits: [1] } },
      ...text('found'),
      finishWith('tool-calls', 'stop'),
    ]);
    expect(parts).toEqual([
      {
        kind: 'custom',
        name: 'tool-call',
        value: {
          type: 'tool-call',
          toolCallId: 's',
          toolName: 'search',
          input: '{"q":"x"}',
          providerExecuted: true,
        },
        providerState: state({ a: { itemId: 'i' } }),
      },
      {
        kind: 'custom',
        name: 'tool-result',
        value: { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { hits: [1] } },
        providerState: state({}),
      },
      { kind: 'text', text: 'found' },
    ]);
    expect(stop).toMatchObject({ reason: 'stop', cause: 'no_tool_call' });
    expect(
      steps.flatMap(({ deltas }) => deltas).some((delta) => delta.type === 'retract_part'),
    ).toBe(false);
  });

  test('a call that turns out to be the provider’s only when it is whole is no call to run', async () => {
    const { parts, stop } = await readAnswer([
      ...input('s', 'search', '{}'),
      { ...call('s', 'search', '{}'), providerExecuted: true },
      finish,
    ]);
    expect(parts).toMatchObject([{ kind: 'custom', name: 'tool-call' }]);
    expect(stop.reason).toBe('stop');
  });

  test('preliminary results replace each other, and the last one stays', async () => {
    const result = (n: number, preliminary?: true) => ({
      type: 'tool-result',
      toolCallId: 's',
      toolName: 'paint',
      result: { n },
      ...(preliminary && { preliminary }),
    });
    const { parts } = await readAnswer([result(1, true), result(2, true), result(3), finish]);
    expect(parts).toMatchObject([
      { kind: 'custom', name: 'tool-result', value: { result: { n: 3 } } },
    ]);
    const { parts: unfinished } = await readAnswer([result(1, true), result(2, true), finish]);
    expect(unfinished).toMatchObject([{ value: { result: { n: 2 } } }]);
  });

  test('custom content, files of the reasoning and requests for approval are kept as they came', async () => {
    const { parts } = await readAnswer([
      { type: 'custom', kind: 'maker.compaction', providerMetadata: { maker: { id: 'x' } } },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'data', data: new Uint8Array([1, 2, 3]) },
      },
      { type: 'tool-approval-request', approvalId: 'p', toolCallId: 's' },
      finish,
    ]);
    expect(parts).toEqual([
      {
        kind: 'custom',
        name: 'maker.compaction',
        value: { type: 'custom', kind: 'maker.compaction' },
        providerState: state({ maker: { id: 'x' } }),
      },
      {
        kind: 'custom',
        name: 'reasoning-file',
        value: {
          type: 'reasoning-file',
          mediaType: 'image/png',
          data: { type: 'data', data: 'AQID' },
        },
        providerState: state({}),
      },
      {
        kind: 'custom',
        name: 'tool-approval-request',
        value: { type: 'tool-approval-request', approvalId: 'p', toolCallId: 's' },
        providerState: state({}),
      },
    ]);
  });
});

describe('files and sources', () => {
  const bytes = new Uint8Array([251, 255, 1]);
  const asBytes = { type: 'bytes', bytes };

  test.each([
    ['bytes', { type: 'data', data: bytes }, asBytes],
    ['base64', { type: 'data', data: '+/8B' }, asBytes],
    ['base64 for addresses', { type: 'data', data: '-_8B' }, asBytes],
    ['bytes as earlier versions have them', bytes, asBytes],
    ['base64 as earlier versions have it', '+/8B', asBytes],
    [
      'an address',
      { type: 'url', url: new URL('https://x.test/a.png') },
      { type: 'url', url: 'https://x.test/a.png' },
    ],
    [
      'an address that a parser would change',
      { type: 'url', url: new URL('gs://b/a'), originalUrl: 'gs://B/a' },
      { type: 'url', url: 'gs://B/a' },
    ],
  ])('a file is a media part, given as %s', async (_, data, source) => {
    const { parts } = await readAnswer([{ type: 'file', mediaType: 'image/png', data }, finish]);
    expect(parts).toEqual([{ kind: 'media', mimeType: 'image/png', source }]);
  });

  test('base64 without padding is bytes; what is not base64 is a protocol error', async () => {
    const file = (data: string) => ({
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data },
    });
    const { parts } = await readAnswer([file('AQ'), finish]);
    expect(parts).toMatchObject([{ source: { bytes: new Uint8Array([1]) } }]);
    const { error } = await readAnswer([file('?!'), finish]);
    expect(error?.kind).toBe('protocol_error');
  });

  const source = (id: string) => ({
    type: 'source',
    sourceType: 'url',
    id,
    url: `https://${id}.test/`,
    title: id,
  });

  test('a source belongs to the current text, once, or to the next one', async () => {
    const spoken = text('a');
    const { parts } = await readAnswer([
      source('before'),
      ...spoken.slice(0, 2),
      source('within'),
      source('within'),
      ...spoken.slice(2),
      finish,
    ]);
    expect(parts).toMatchObject([
      {
        kind: 'text',
        metadata: {
          citations: [
            { url: 'https://before.test/', title: 'before', raw: source('before') },
            { url: 'https://within.test/', title: 'within' },
          ],
        },
      },
    ]);
    expect(citationsIn(parts[0])).toHaveLength(2);
  });

  test('sources after the last text are a custom part of their own', async () => {
    const document = {
      type: 'source',
      sourceType: 'document',
      id: 'd',
      mediaType: 'application/pdf',
      title: 'D',
    };
    const { parts } = await readAnswer([...text('a'), document, finish]);
    expect(parts).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'custom', name: 'citations', value: { citations: [{ title: 'D', raw: document }] } },
    ]);
  });

  test('citations at the end of a text belong to that text', async () => {
    const citation = { source: source('s'), startIndex: 0, endIndex: 1, citedText: 'q' };
    const { parts } = await readAnswer([
      ...text('a').slice(0, 2),
      { type: 'text-end', id: 't', citations: [citation] },
      finish,
    ]);
    expect(citationsIn(parts[0])).toEqual([{ url: 'https://s.test/', title: 's', raw: citation }]);
  });

  function citationsIn(part: Part | undefined): unknown {
    return part?.metadata?.['citations'];
  }
});

describe('the end', () => {
  test.each([
    ['stop', 'end_turn', 'stop'],
    ['length', 'max_tokens', 'length'],
    ['content-filter', 'SAFETY', 'content_filter'],
    ['content-filter', 'refusal', 'refusal'],
    ['stop', 'pause_turn', 'pause'],
    ['other', 'compaction', 'unknown'],
    ['a later word', 'raw', 'unknown'],
  ])(
    'finish reason %s (%s) is the stop reason of the same meaning',
    async (unified, raw, reason) => {
      const { stop, error } = await readAnswer([...text('a'), finishWith(unified, raw)]);
      expect(stop).toEqual({ reason, raw });
      expect(error).toBeUndefined();
    },
  );

  test('calls do not turn a cut or filtered answer into tool use', async () => {
    for (const unified of ['length', 'content-filter']) {
      const { stop } = await readAnswer([call('a', 'one', '{}'), finishWith(unified, 'raw')]);
      expect(stop.reason).not.toBe('tool_use');
    }
  });

  test('a stream without a finish part is truncated, whatever came', async () => {
    const { stop, error, parts } = await readAnswer([...text('a'), call('a', 'one', '{}')]);
    expect(error).toMatchObject({ kind: 'truncated_stream', retry: 'yes' });
    expect(stop).toEqual({ reason: 'error', cause: 'truncated_stream' });
    expect(parts).toEqual([{ kind: 'text', text: 'a' }]);
  });

  test('an empty stream is truncated', async () => {
    const { error, parts } = await readAnswer([{ type: 'stream-start', warnings: [] }]);
    expect(error?.kind).toBe('truncated_stream');
    expect(parts).toEqual([]);
  });

  test.each([
    ['interrupted', undefined],
    ['interrupted', 'x'],
    ['other', undefined],
  ])('a finish that says %s (%s) is a stream that was cut', async (unified, raw) => {
    const { error } = await readAnswer([...text('a'), finishWith(unified, raw)]);
    expect(error?.kind).toBe('truncated_stream');
  });

  test.each([
    ['MALFORMED_FUNCTION_CALL', 'model_output_invalid'],
    ['insufficient_system_resource', 'overloaded'],
    [undefined, 'server'],
  ])('a finish because of an error (%s) is that error: %s', async (raw, kind) => {
    const { error, stop } = await readAnswer([...text('a'), finishWith('error', raw)]);
    expect(error?.kind).toBe(kind);
    expect(stop).toMatchObject({ reason: 'error', cause: kind });
  });

  test('what was open when the stream was cut is partial, and half a call is gone', async () => {
    const { parts } = await readAnswer([
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'text-delta', id: 't', delta: 'half' },
      ...input('a', 'one', '{'),
    ]);
    expect(parts).toEqual([
      { kind: 'reasoning', text: 'hm', form: 'full', partial: true },
      { kind: 'text', text: 'half', partial: true },
    ]);
  });

  test('what a package ends because the stream was cut is partial, what ended before that is not', async () => {
    const cut = { ...finish, finishReason: { unified: 'other', raw: undefined } };
    const { parts, error } = await readAnswer([
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-end', id: 'r' },
      ...text('half'),
      cut,
    ]);
    expect(error?.kind).toBe('truncated_stream');
    expect(parts).toMatchObject([
      { kind: 'reasoning', text: 'hm' },
      { kind: 'text', text: 'half', partial: true },
    ]);
    expect(parts[0]).not.toHaveProperty('partial');
  });

  test('parts after the finish are not part of the answer', async () => {
    const { parts, stop } = await readAnswer([
      ...text('a'),
      finish,
      ...text('b'),
      { type: 'error', error: 'late' },
    ]);
    expect(parts).toEqual([{ kind: 'text', text: 'a' }]);
    expect(stop.reason).toBe('stop');
  });

  test('warnings, pings, raw chunks and parts of later versions change nothing', async () => {
    const { parts } = await readAnswer([
      { type: 'stream-start', warnings: [{ type: 'other', message: 'w' }] },
      { type: 'ping' },
      { type: 'raw', rawValue: {} },
      { type: 'something-new', id: 'x' },
      ...text('a'),
      finish,
    ]);
    expect(parts).toEqual([{ kind: 'text', text: 'a' }]);
  });

  test('the model and the id of the response are known however it ends', async () => {
    const about = {
      type: 'response-metadata',
      id: 'r-1',
      modelId: 'm-1-2026',
      timestamp: new Date(0),
    };
    for (const end of [[finish], []]) {
      const completion = await readAnswer([about, ...end]);
      expect(completion).toMatchObject({ model: 'm-1-2026', responseId: 'r-1' });
    }
  });
});

describe('usage', () => {
  const ended = (given: unknown) => [...text('x'.repeat(400)), { ...finish, usage: given }];

  test('input and output are the totals, with their parts', async () => {
    const { usage: said } = await readAnswer(ended(usage));
    expect(said).toEqual({
      input: 10,
      output: 7,
      cacheRead: 3,
      cacheWrite: 1,
      reasoning: 2,
      estimated: false,
      costs: [],
    });
  });

  test('totals that are missing are the sums of their parts', async () => {
    const { usage: said } = await readAnswer(
      ended({
        inputTokens: { total: undefined, noCache: 6, cacheRead: 3, cacheWrite: undefined },
        outputTokens: { total: undefined, text: 5, reasoning: 2 },
      }),
    );
    expect(said).toMatchObject({ input: 9, output: 7, estimated: false });
  });

  test('missing usage is estimated and marked; reported usage stays', async () => {
    const none = {
      total: undefined,
      noCache: undefined,
      cacheRead: undefined,
      cacheWrite: undefined,
    };
    const { usage: half } = await readAnswer(
      ended({
        inputTokens: { ...none, total: 12 },
        outputTokens: { total: undefined, text: undefined, reasoning: undefined },
      }),
    );
    expect(half).toMatchObject({ input: 12, output: 100, estimated: true });
    const { usage: nothing } = await readAnswer(ended(undefined));
    expect(nothing).toMatchObject({ output: 100, estimated: true });
    expect(nothing.input).toBeGreaterThan(0);
  });

  test('a response that was cut has the usage of what came', async () => {
    const { usage: cut } = await readAnswer(text('x'.repeat(400)));
    expect(cut).toMatchObject({ output: 100, estimated: true });
    const failed = await readAnswer([...text('x'.repeat(400)), { type: 'error', error: 'no' }]);
    expect(failed.steps).toHaveLength(1);
    expect(failed.usage).toMatchObject({ output: 100, estimated: true });
  });
});

describe('earlier versions of the interface', () => {
  test('version 3 is read like version 4', async () => {
    const file = { type: 'file', mediaType: 'image/png', data: 'AQID' };
    const { parts, stop, usage: said } = await readAnswer([...text('a'), file, finish], {}, 'v3');
    expect(parts).toMatchObject([{ text: 'a' }, { source: { bytes: new Uint8Array([1, 2, 3]) } }]);
    expect(stop).toEqual({ reason: 'stop', raw: 'end_turn' });
    expect(said).toMatchObject({ input: 10, output: 7 });
  });

  test('version 2 has flat usage and one word for the end', async () => {
    const flat = {
      type: 'finish',
      finishReason: 'tool-calls',
      usage: {
        inputTokens: 5,
        outputTokens: 4,
        totalTokens: 9,
        reasoningTokens: 1,
        cachedInputTokens: 2,
      },
    };
    const { stop, usage: said } = await readAnswer([call('a', 'one', '{}'), flat], {}, 'v2');
    expect(stop).toEqual({ reason: 'tool_use', raw: 'tool-calls' });
    expect(said).toMatchObject({
      input: 5,
      output: 4,
      cacheRead: 2,
      reasoning: 1,
      estimated: false,
    });
  });

  test('version 2 says unknown for a stream that was cut', async () => {
    const { error } = await readAnswer(
      [...text('a'), { ...finish, finishReason: 'unknown' }],
      {},
      'v2',
    );
    expect(error?.kind).toBe('truncated_stream');
  });

  test('an unknown version is rejected with advice', async () => {
    const { error } = await readAnswer([finish], {}, 'v9' as 'v4');
    expect(error?.kind).toBe('invalid_request');
    expect(error?.message).toContain('v2, v3 or v4');
  });
});

describe('every order of parts', () => {
  const id = fc.constantFrom('1', '2', '3');
  const metadata = fc.option(fc.constant({ a: { s: 'x' } }), { nil: undefined });
  const part = fc.oneof(
    fc.record({
      type: fc.constantFrom('text-start', 'text-end', 'reasoning-start', 'reasoning-end'),
      id,
      providerMetadata: metadata,
    }),
    fc.record({
      type: fc.constantFrom('text-delta', 'reasoning-delta', 'tool-input-delta'),
      id,
      delta: fc.string(),
    }),
    fc.record({
      type: fc.constant('tool-input-start'),
      id,
      toolName: fc.constantFrom('one', ''),
      providerExecuted: fc.boolean(),
    }),
    fc.record({ type: fc.constant('tool-input-end'), id }),
    fc.record({
      type: fc.constant('tool-call'),
      toolCallId: id,
      toolName: fc.constantFrom('one', 'two'),
      input: fc.json(),
      providerExecuted: fc.boolean(),
    }),
    fc.record({
      type: fc.constant('tool-result'),
      toolCallId: id,
      toolName: fc.constant('one'),
      result: fc.jsonValue(),
      preliminary: fc.boolean(),
    }),
    fc.record({
      type: fc.constant('source'),
      sourceType: fc.constant('url'),
      id,
      url: fc.webUrl(),
    }),
    fc.record({ type: fc.constantFrom('ping', 'raw', 'new') }),
    fc.record({ type: fc.constant('error'), error: fc.anything() }),
    fc.constant(finish),
  );

  test('no order loses a text, throws, or leaves a part open', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 30 }), async (parts) => {
        const { stop, error, steps, item } = await readAnswer(parts);
        expect(steps.filter(({ end }) => end !== undefined)).toHaveLength(1);
        expect(steps.at(-1)?.end).toBeDefined();
        expect(error === undefined).toBe(stop.reason !== 'error');
        expect(openAtEnd(steps)).toEqual([]);
        expect(textOf(item, 'text')).toBe(said(parts, 'text-delta'));
        expect(textOf(item, 'reasoning')).toBe(said(parts, 'reasoning-delta'));
      }),
      { numRuns: runs(500) },
    );
  });

  function openAtEnd(steps: readonly StreamStep[]): readonly string[] {
    const open = new Set<string>();
    for (const delta of steps.flatMap(({ deltas }) => deltas)) {
      if (delta.type === 'begin_part') open.add(delta.partId);
      if (delta.type === 'commit_part' || delta.type === 'retract_part') open.delete(delta.partId);
    }
    return [...open];
  }

  /** The characters in any order, because blocks can alternate. */
  function textOf(item: Item, kind: 'text' | 'reasoning'): string {
    return sorted(item.parts.map((one) => (one.kind === kind ? one.text : '')).join(''));
  }

  function said(parts: readonly { type: string; delta?: string }[], type: string): string {
    const end = parts.findIndex((one) => one.type === 'finish' || one.type === 'error');
    const counted = end < 0 ? parts : parts.slice(0, end);
    return sorted(counted.map((one) => (one.type === type ? (one.delta ?? '') : '')).join(''));
  }

  const sorted = (chars: string) => [...chars].sort().join('');
});
