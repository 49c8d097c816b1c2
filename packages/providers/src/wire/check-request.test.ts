import { describe, expect, test } from 'vitest';
import type { ModelRequest } from '../contract/model-request.ts';
import { WireFault } from '../errors/wire-fault.ts';
import { checkRequest } from './check-request.ts';

const check = (request: unknown) => () => checkRequest(request as ModelRequest);
const circle: Record<string, unknown> = { type: 'object' };
circle['inner'] = [circle];

const item = (part: unknown) => ({ items: [{ id: 'i', kind: 'user', parts: [part] }] });
const tool = (more: object) => ({ items: [], tools: [{ name: 't', inputSchema: {}, ...more }] });

describe('a request that does not match its type is reported with the path', () => {
  test.each<[string, unknown]>([
    ['the request is undefined', undefined],
    ['the request is a string', 'hi'],
    ['items is undefined', {}],
    ['items is a string', { items: 'hi' }],
    ['items[0] is null', { items: [null] }],
    ['items[0].id is undefined', { items: [{ kind: 'user', parts: [] }] }],
    ['items[0].kind is "usr"; use one of system,', { items: [{ id: 'i', kind: 'usr' }] }],
    ['items[0].parts is undefined', { items: [{ id: 'i', kind: 'user' }] }],
    ['items[0].parts[0] is a string', item('hi')],
    ['items[0].parts[0].kind is "txt"; use one of text,', item({ kind: 'txt', text: 'a' })],
    ['items[0].parts[0].kind is undefined', item({ text: 'a' })],
    ['items[0].parts[0].text is undefined', item({ kind: 'text', content: 'a' })],
    ['items[0].parts[0].text is a number', item({ kind: 'reasoning', text: 5 })],
    [
      'items[0].parts[0].arguments is an object',
      item({ kind: 'tool_call', toolCallId: 'c', name: 't', arguments: {} }),
    ],
    ['items[0].parts[0].toolCallId is undefined', item({ kind: 'tool_result', text: 'a' })],
    [
      'items[0].parts[0].attachments[0].kind is "text"',
      item({ kind: 'tool_result', toolCallId: 'c', text: '', attachments: [{ kind: 'text' }] }),
    ],
    ['items[0].parts[0].value is undefined', item({ kind: 'structured' })],
    [
      'items[0].parts[0].value.a[1] is a bigint',
      item({ kind: 'structured', value: { a: [1, 1n] } }),
    ],
    ['items[0].parts[0].name is undefined', item({ kind: 'custom', value: 1 })],
    ['items[0].parts[0].mimeType is undefined', item({ kind: 'media' })],
    ['items[0].parts[0].source is a string', item({ kind: 'media', mimeType: 'a/b', source: 'x' })],
    [
      'items[0].parts[0].source.type is "base64"',
      item({ kind: 'media', mimeType: 'a/b', source: { type: 'base64' } }),
    ],
    [
      'items[0].parts[0].source.bytes is not a Uint8Array',
      item({ kind: 'media', mimeType: 'a/b', source: { type: 'bytes', bytes: 'aGk=' } }),
    ],
    [
      'items[0].parts[0].source.url is an object',
      item({
        kind: 'file',
        name: 'f',
        mimeType: 'a/b',
        source: { type: 'url', url: new URL('a:b') },
      }),
    ],
    [
      'items[0].parts[0].providerState.data.self is a function',
      item({ kind: 'text', text: '', providerState: { data: { self: () => {} } } }),
    ],
    ['tools is an object', { items: [], tools: {} }],
    ['tools[0] is null', { items: [], tools: [null] }],
    ['tools[0].name is empty', tool({ name: '' })],
    ['tools[0].description is a number', tool({ description: 5 })],
    ['tools[0].inputSchema is undefined', tool({ inputSchema: undefined })],
    ['tools[0].inputSchema is an array', tool({ inputSchema: [] })],
    ['tools[0].inputSchema.inner[0] contains itself', tool({ inputSchema: circle })],
    ['tools[0].inputSchema.maximum is NaN', tool({ inputSchema: { maximum: Number.NaN } })],
    ['toolChoice is "any"', { items: [], toolChoice: 'any' }],
    ['toolChoice.name is undefined', { items: [], toolChoice: {} }],
    ['reasoning is "hihg"', { items: [], reasoning: 'hihg' }],
    ['output.schema is undefined', { items: [], output: { name: 'o' } }],
    ['maxOutputTokens is NaN', { items: [], maxOutputTokens: Number.NaN }],
    ['temperature is a string', { items: [], temperature: '1' }],
    ['topP is Infinity', { items: [], topP: Infinity }],
    ['stopSequences is a string', { items: [], stopSequences: 'END' }],
    ['stopSequences[0] is a number', { items: [], stopSequences: [1] }],
    ['cache.upTo is undefined', { items: [], cache: {} }],
    ['providerOptions is a string', { items: [], providerOptions: 'x' }],
    ['providerOptions.a.b is a symbol', { items: [], providerOptions: { a: { b: Symbol('s') } } }],
  ])('%s', (message, request) => {
    expect(check(request)).toThrow(WireFault);
    expect(check(request)).toThrow(message);
  });

  test('and so is one that is nested too deeply', () => {
    let deep: Record<string, unknown> = {};
    for (let depth = 0; depth < 100_000; depth++) deep = { deep };
    expect(check({ items: [], providerOptions: deep })).toThrow('is nested too deeply');
  });
});

describe('a valid request passes', () => {
  test('with all fields', () => {
    const attachment = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'bytes', bytes: new Uint8Array(1) },
    };
    const parts = [
      { kind: 'text', text: '' },
      { kind: 'reasoning', text: 'a', form: 'full' },
      { kind: 'tool_call', toolCallId: 'c', name: 't', arguments: 'no JSON' },
      { kind: 'tool_result', toolCallId: 'c', text: '', attachments: [attachment] },
      { kind: 'structured', value: null },
      { kind: 'custom', name: 'c', value: [1] },
      { kind: 'media', mimeType: 'a/b', source: { type: 'blob', hash: 'h', length: 1 } },
      { kind: 'file', name: 'f', mimeType: 'a/b', source: { type: 'url', url: 'https://a/' } },
    ];
    const request = {
      ...tool({ description: 'd', strict: true }),
      items: [{ id: 'i', kind: 'assistant', parts }],
      toolChoice: { name: 't' },
      reasoning: 'max',
      output: { name: 'o', schema: {} },
      maxOutputTokens: 1,
      temperature: 0,
      topP: 1,
      stopSequences: ['END'],
      cache: { upTo: ['i'], key: 'k' },
      providerOptions: { absent: undefined, when: new Date(0), list: [null, true] },
    };
    expect(check(request)).not.toThrow();
  });

  test('with the same object in two places', () => {
    const shared = { type: 'string' };
    expect(check(tool({ inputSchema: { a: shared, b: [shared] } }))).not.toThrow();
  });
});
