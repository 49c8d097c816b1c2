import { type Item, itemId, type JsonObject, type Part, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { ModelRequest, ToolDefinition } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { gemini, vertex } from '../gemini/provider.ts';
import { withContentOptions } from '../history/content-options.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';

// Hosted tools beside functions, and options of single tools and contents, on every wire.

const text = (words: string): Part => ({ kind: 'text', text: words });
const item = (kind: Item['kind'], ...parts: readonly Part[]): Item => ({
  id: itemId(`${kind}${parts.length}`),
  kind,
  parts,
});
const user = item('user', text('Hi'));

/** The body that a provider would send. */
function bodyOf(provider: Provider, request: Partial<ModelRequest> = {}): JsonObject {
  return provider.describe?.({ items: [user], ...request }).body ?? {};
}

const apiKey = 'key';
const cloud = { project: 'tides', location: 'global', accessToken: 'token' };
const inputSchema = { type: 'object', properties: {} };
const tide: ToolDefinition = { name: 'tide', inputSchema };
const tools = [tide];

describe('19.build3: hosted tools are declared beside functions', () => {
  test('Responses', () => {
    const extraTools = [
      { type: 'web_search', search_context_size: 'low' },
      { type: 'code_interpreter', container: { type: 'auto' } },
    ] as const;
    const provider = openaiResponses({ apiKey, model: 'gpt-5', extraTools });
    expect(bodyOf(provider, { tools })['tools']).toMatchObject([{ name: 'tide' }, ...extraTools]);
  });

  test('Chat Completions, where a custom tool replaces a function and can be chosen', () => {
    const sql = { type: 'custom', custom: { name: 'sql', description: 'Runs SQL' } } as const;
    const extraTools = [sql, { type: 'openrouter:web_search' }] as const;
    const provider = openaiChat({ apiKey, model: 'any', preset: 'openrouter', extraTools });
    const both = [tide, { name: 'sql', inputSchema }];
    const body = bodyOf(provider, { tools: both, toolChoice: { name: 'sql' } });
    expect(body['tools']).toMatchObject([{ function: { name: 'tide' } }, ...extraTools]);
    expect(body['tool_choice']).toEqual({ type: 'custom', custom: { name: 'sql' } });
  });

  test('Anthropic', () => {
    const extraTools = [
      { type: 'web_search_20260209', name: 'web_search', max_uses: 3 },
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    ] as const;
    const provider = anthropic({ apiKey, model: 'claude-sonnet-4-5', extraTools });
    expect(bodyOf(provider, { tools })['tools']).toMatchObject([{ name: 'tide' }, ...extraTools]);
  });

  test('Gemini, from generation 3 on', () => {
    const extraTools = [{ googleSearch: {} }, { urlContext: {} }];
    const model = 'gemini-3-flash-preview';
    const declared = [{ functionDeclarations: [{ name: 'tide' }] }, ...extraTools];
    const body = bodyOf(gemini({ apiKey, model, extraTools }), { tools });
    expect(body['tools']).toMatchObject(declared);
    expect(body['toolConfig']).toEqual({ includeServerSideToolInvocations: true });
    const onCloud = bodyOf(vertex({ ...cloud, model, extraTools }), { tools });
    expect(onCloud['tools']).toMatchObject(declared);
    expect(onCloud['toolConfig']).toBeUndefined();
  });

  test('an older Gemini accepts only one of the two, and no schema beside a hosted tool', () => {
    const provider = gemini({
      apiKey,
      model: 'gemini-2.5-flash',
      extraTools: [{ googleSearch: {} }],
    });
    expect(bodyOf(provider)['tools']).toEqual([{ googleSearch: {} }]);
    expect(() => bodyOf(provider, { tools })).toThrow(/no hosted tools beside functions/);
    const output = { name: 'answer', schema: inputSchema };
    expect(bodyOf(provider, { output })['generationConfig']).toBeUndefined();
  });
});

describe('19.build3: a tool has options of its own', () => {
  const strict = [
    { ...tide, strict: true },
    { name: 'wind', inputSchema },
  ];

  test('strict, on every wire that has it', () => {
    const toolsOf = (provider: Provider) => bodyOf(provider, { tools: strict })['tools'];
    expect(toolsOf(openaiResponses({ apiKey, model: 'gpt-5' }))).toMatchObject([
      { name: 'tide', strict: true, parameters: { additionalProperties: false } },
      { name: 'wind', strict: false },
    ]);
    expect(toolsOf(openaiChat({ apiKey, model: 'gpt-5' }))).toMatchObject([
      { function: { name: 'tide', strict: true } },
      { function: { name: 'wind' } },
    ]);
    const [first, second] = toolsOf(
      anthropic({ apiKey, model: 'claude-sonnet-4-5' }),
    ) as readonly JsonObject[];
    expect([first?.['strict'], second?.['strict']]).toEqual([true, undefined]);
    const provider = gemini({ apiKey, model: 'gemini-3-flash-preview' });
    expect(bodyOf(provider, { tools: strict })['toolConfig']).toEqual({
      functionCallingConfig: { mode: 'VALIDATED' },
    });
  });

  const options = {
    anthropic: {
      defer_loading: true,
      allowed_callers: ['code_execution_20260120'],
      input_examples: [{ port: 'Kiel' }],
    },
    openai: { defer_loading: true, allowed_callers: ['programmatic'] },
  } as const;
  const optional = [{ ...tide, providerOptions: options }];

  test('fields of one provider, which others do not get', () => {
    const declared = (provider: Provider) =>
      (bodyOf(provider, { tools: optional })['tools'] as readonly JsonObject[])[0];
    expect(declared(anthropic({ apiKey, model: 'claude-sonnet-4-5' }))).toMatchObject({
      name: 'tide',
      ...options.anthropic,
    });
    expect(declared(openaiResponses({ apiKey, model: 'gpt-5' }))).toMatchObject({
      name: 'tide',
      ...options.openai,
    });
    expect(declared(openaiResponses({ apiKey, model: 'grok-4', preset: 'xai' }))).toEqual({
      type: 'function',
      name: 'tide',
      parameters: inputSchema,
      strict: false,
    });
    expect(declared(gemini({ apiKey, model: 'gemini-3-flash-preview' }))).toEqual({
      functionDeclarations: [{ name: 'tide', parametersJsonSchema: inputSchema }],
    });
  });

  test('but neither another name nor another schema', () => {
    const send = (anthropicOptions: JsonObject) => () =>
      bodyOf(anthropic({ apiKey, model: 'claude-sonnet-4-5' }), {
        tools: [{ ...tide, providerOptions: { anthropic: anthropicOptions } }],
      });
    expect(send({ name: 'wind' })).toThrow(/cannot rename the tool tide/);
    expect(send({ input_schema: null })).toThrow(/cannot set tools\.tide\.input_schema/);
  });
});

describe('19.build3: a picture or file has options of its own', () => {
  const bytes = { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) } as const;
  const picture = withContentOptions(
    { kind: 'media', mimeType: 'image/png', source: bytes },
    {
      openai: { detail: 'low' },
      google: { mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } },
    },
  );
  const report = withContentOptions(
    { kind: 'file', name: 'report.pdf', mimeType: 'application/pdf', source: bytes },
    { anthropic: { citations: { enabled: true }, context: 'Of May' } },
  );
  const items = [item('user', picture, report)];

  test('OpenAI: detail, on both wires and in results of tools', () => {
    const responses = openaiResponses({ apiKey, model: 'gpt-5' });
    const [message] = bodyOf(responses, { items })['input'] as readonly JsonObject[];
    const image_url = 'data:image/png;base64,AQID';
    const shown = { type: 'input_image', image_url, detail: 'low' };
    expect(message?.['content']).toMatchObject([shown, { type: 'input_file' }]);
    const chat = openaiChat({ apiKey, model: 'gpt-5' });
    const [asked] = bodyOf(chat, { items })['messages'] as readonly JsonObject[];
    expect(asked?.['content']).toMatchObject([
      { type: 'image_url', image_url: { url: image_url, detail: 'low' } },
      { type: 'file' },
    ]);
    const id = toolCallId('call_1');
    const call = item('assistant', {
      kind: 'tool_call',
      toolCallId: id,
      name: 'tide',
      arguments: '{}',
    });
    const result = item('tool', {
      kind: 'tool_result',
      toolCallId: id,
      name: 'tide',
      text: '',
      isError: false,
      attachments: [picture],
    });
    const { input } = bodyOf(responses, { items: [user, call, result] });
    expect((input as readonly JsonObject[]).at(-1)?.['output']).toEqual([shown]);
  });

  test('Anthropic: citations', () => {
    const provider = anthropic({ apiKey, model: 'claude-sonnet-4-5' });
    const [message] = bodyOf(provider, { items })['messages'] as readonly JsonObject[];
    const [image, document] = (message?.['content'] ?? []) as readonly JsonObject[];
    expect(Object.keys(image ?? {})).toEqual(['type', 'source']);
    expect(document).toMatchObject({
      type: 'document',
      title: 'report.pdf',
      citations: { enabled: true },
      context: 'Of May',
    });
  });

  test('Google: media resolution, on both APIs', () => {
    const model = 'gemini-3-flash-preview';
    for (const provider of [gemini({ apiKey, model }), vertex({ ...cloud, model })]) {
      const [message] = bodyOf(provider, { items })['contents'] as readonly JsonObject[];
      expect(message?.['parts']).toEqual([
        {
          inlineData: { mimeType: 'image/png', data: 'AQID' },
          mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' },
        },
        { inlineData: { mimeType: 'application/pdf', data: 'AQID' } },
      ]);
    }
  });

  test('they cannot replace the content', () => {
    const wrong = withContentOptions(picture, { google: { inlineData: null as never } });
    const provider = gemini({ apiKey, model: 'gemini-3-flash-preview' });
    expect(() => bodyOf(provider, { items: [item('user', wrong)] })).toThrow(
      /cannot set content\.inlineData/,
    );
  });
});
