import { type Item, itemId, type ProviderFile, toolCallId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import type { Provider } from '../contract/provider.ts';
import { gemini } from '../gemini/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { fetchOf } from '../testing/fetch-of.ts';

// A user can name a file that is already at a provider.

const file = (provider: string, id: string): ProviderFile => ({
  type: 'provider_file',
  provider,
  id,
});

const itemsWith = (source: ProviderFile): readonly Item[] => [
  {
    id: itemId('u1'),
    kind: 'user',
    parts: [
      { kind: 'text', text: 'Read' },
      { kind: 'file', name: 'report.pdf', mimeType: 'application/pdf', source },
      { kind: 'media', mimeType: 'image/png', source },
    ],
  },
];

const apiKey = 'key-of-test';
const providers = {
  openai: openaiChat({ model: 'gpt-5.1', apiKey }),
  responses: openaiResponses({ model: 'gpt-5.1', apiKey }),
  anthropic: anthropic({ model: 'claude-sonnet-4-5', apiKey }),
  gemini: gemini({ model: 'gemini-3-flash-preview', apiKey }),
};

const bodyOf = (provider: Provider, items: readonly Item[]) => provider.describe?.({ items }).body;

describe('a file of the provider itself', () => {
  test('responses', () => {
    const body = bodyOf(providers.responses, itemsWith(file('openai', 'file-1')));
    expect(body?.['input']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Read' },
          { type: 'input_file', file_id: 'file-1' },
          { type: 'input_image', file_id: 'file-1', detail: 'auto' },
        ],
      },
    ]);
  });

  test('chat takes documents and names pictures', () => {
    const body = bodyOf(providers.openai, itemsWith(file('openai', 'file-1')));
    expect(body).toMatchObject({
      messages: [
        {
          content: [
            { type: 'text', text: 'Read' },
            { type: 'file', file: { file_id: 'file-1' } },
            { type: 'text', text: '[An attachment cannot be shown: image/png]' },
          ],
        },
      ],
    });
  });

  test('anthropic, with the beta feature that older models need', async () => {
    const { fetch, requests } = fetchOf(['']);
    const provider = anthropic({ model: 'claude-sonnet-4-5', apiKey, fetch });
    await provider.complete({ items: itemsWith(file('anthropic', 'file_1')) });
    const source = { type: 'file', file_id: 'file_1' };
    expect(requests[0]?.body).toMatchObject({
      messages: [
        {
          content: [
            { text: 'Read' },
            { type: 'document', source, title: 'report.pdf' },
            { type: 'image', source },
          ],
        },
      ],
    });
    expect(requests[0]?.headers.get('anthropic-beta')).toBe('files-api-2025-04-14');
  });

  test('gemini takes the URI of a file', () => {
    const fileUri = 'https://generativelanguage.googleapis.com/v1beta/files/abc';
    const body = bodyOf(providers.gemini, itemsWith(file('gemini', fileUri)));
    expect(body).toMatchObject({
      contents: [
        {
          parts: [
            { text: 'Read' },
            { fileData: { mimeType: 'application/pdf', fileUri } },
            { fileData: { mimeType: 'image/png', fileUri } },
          ],
        },
      ],
    });
  });
});

describe.each(Object.entries(providers))('%s: a file of another provider', (_, provider) => {
  const source = file('elsewhere', 'file-secret');

  test('is named in words', () => {
    const body = JSON.stringify(bodyOf(provider, itemsWith(source)));
    expect(body).toContain('An attachment cannot be shown');
    expect(body).toContain('report.pdf');
    expect(body).not.toContain('file-secret');
  });

  test('is named in the result of a tool', () => {
    const call = { toolCallId: toolCallId('c1'), name: 'look' };
    const attachments = [{ kind: 'media', mimeType: 'image/png', source }] as const;
    const body = JSON.stringify(
      bodyOf(provider, [
        { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: 'Look' }] },
        {
          id: itemId('a1'),
          kind: 'assistant',
          parts: [{ kind: 'tool_call', ...call, arguments: '{}' }],
        },
        {
          id: itemId('t1'),
          kind: 'tool',
          parts: [{ kind: 'tool_result', ...call, text: 'Seen', isError: false, attachments }],
        },
      ]),
    );
    expect(body).toContain('Seen\\n[An attachment cannot be shown: image/png]');
    expect(body).not.toContain('file-secret');
  });
});

test('a source without an id is refused', async () => {
  const source = { type: 'provider_file', provider: 'openai' } as ProviderFile;
  const { error } = await providers.responses.complete({ items: itemsWith(source) });
  expect(error).toMatchObject({ kind: 'invalid_request' });
  expect(error?.message).toContain('source.id');
});
