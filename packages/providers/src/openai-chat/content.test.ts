import {
  type Item,
  itemId,
  type JsonObject,
  type Part,
  type Source,
  toolCallId,
  toolCallPart,
} from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { Attachment } from '../history/attachment.ts';
import { chatFaults } from '../scripted-server/rules/openai-chat.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import type { ChatOptions, ChatPreset } from './options.ts';
import { openaiChat } from './provider.ts';

const item = (id: string, kind: Item['kind'], ...parts: Part[]): Item => ({
  id: itemId(id),
  kind,
  parts,
});
const bytes: Source = { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) };
const words: Source = { type: 'bytes', bytes: new TextEncoder().encode('abc') };
const file = (name: string, mimeType: string, source: Source = bytes): Attachment => ({
  kind: 'file',
  name,
  mimeType,
  source,
});
const text = (said: string) => ({ type: 'text', text: said });

async function messagesOf(items: readonly Item[], options: Partial<ChatOptions> = {}) {
  const { fetch, requests } = fetchOf([]);
  const info = { inputs: ['image', 'pdf', 'audio'] } as const;
  await openaiChat({ model: 'm', apiKey: 'k', fetch, info, ...options }).complete({ items });
  expect(chatFaults(requests[0]?.body)).toEqual([]);
  return requests[0]?.body['messages'] as readonly JsonObject[];
}

async function shown(part: Attachment, options?: Partial<ChatOptions>) {
  const [message] = await messagesOf([item('u', 'user', part)], options);
  const content = message?.['content'] as readonly JsonObject[] | undefined;
  return content?.[0];
}

/** The messages after the call, for a tool that returned these attachments. */
async function messagesAfterCall(said: string, ...attachments: Attachment[]) {
  const id = toolCallId('c');
  const isError = false;
  const result: Part = {
    kind: 'tool_result',
    toolCallId: id,
    name: 'read',
    text: said,
    isError,
    attachments,
  };
  const call = item('a', 'assistant', toolCallPart(id, 'read', {}));
  const messages = await messagesOf([
    item('u', 'user', { kind: 'text', text: 'Hi' }),
    call,
    item('t', 'tool', result),
  ]);
  return messages.slice(2);
}

describe('what a user attaches', () => {
  test.each([
    ['image/jpg', { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AQID' } }],
    ['IMAGE/PNG', { type: 'image_url', image_url: { url: 'data:image/png;base64,AQID' } }],
    ['audio/x-wav', { type: 'input_audio', input_audio: { data: 'AQID', format: 'wav' } }],
    ['audio/mpeg', { type: 'input_audio', input_audio: { data: 'AQID', format: 'mp3' } }],
    [
      'application/pdf',
      { type: 'file', file: { filename: 'a', file_data: 'data:application/pdf;base64,AQID' } },
    ],
  ])('as %s is sent as it is', async (mimeType, expected) => {
    expect(await shown(file('a', mimeType))).toEqual(expected);
  });

  test('as a data URL is sent as what is in it', async () => {
    const source: Source = { type: 'url', url: 'data:audio/mpeg;base64,AQID' };
    const input_audio = { data: 'AQID', format: 'mp3' };
    expect(await shown(file('a', 'audio/mpeg', source))).toEqual({
      type: 'input_audio',
      input_audio,
    });
  });

  test.each(['text/markdown', 'application/json', 'text/x-rust'])(
    'as a file of %s is sent as text, with its name',
    async (mimeType) => {
      expect(await shown(file('a.md', mimeType, words))).toEqual(
        text(`<file name="a.md" type="${mimeType}">\nabc\n</file>`),
      );
    },
  );

  test.each(['application/zip', 'audio/ogg', 'image/tiff', 'video/mp4', 'x/y'])(
    'as %s, which no server takes, is named',
    async (mimeType) => {
      const named = text(`[An attachment cannot be shown: "a" (${mimeType})]`);
      expect(await shown(file('a', mimeType))).toEqual(named);
    },
  );

  test.each(['application/pdf', 'audio/mpeg', 'text/plain'])(
    'as %s at an address is named: only pictures are fetched',
    async (mimeType) => {
      const source: Source = { type: 'url', url: 'https://a.example/b' };
      const named = `[An attachment cannot be shown: "a" (${mimeType}), at https://a.example/b]`;
      expect(await shown(file('a', mimeType, source))).toEqual(text(named));
    },
  );

  test.each<[ChatPreset, readonly string[]]>([
    ['openai', ['image_url', 'file', 'input_audio']],
    ['openrouter', ['image_url', 'file', 'input_audio']],
    ['groq', ['image_url', 'text', 'text']],
    ['ollama', ['image_url', 'text', 'text']],
    ['vllm', ['image_url', 'text', 'input_audio']],
  ])('goes to %s in the forms that it takes', async (preset, expected) => {
    const types = ['image/png', 'application/pdf', 'audio/wav'];
    const parts = await Promise.all(types.map((type) => shown(file('a', type), { preset })));
    expect(parts.map((part) => part?.['type'])).toEqual(expected);
  });

  test('goes to a server that differs as its dialect says', async () => {
    const dialect = { attachmentTypes: [] };
    const picture = await shown(file('a', 'image/png'), { preset: 'vllm', dialect });
    expect(picture).toEqual(text('[An attachment cannot be shown: "a" (image/png)]'));
  });
});

describe('what a tool brings', () => {
  test('is text in the result if the API cannot show it, and otherwise a user message', async () => {
    const parts = [file('a.txt', 'text/plain', words), file('b.zip', 'application/zip')];
    expect(await messagesAfterCall('Read.', ...parts, file('c.png', 'image/png'))).toMatchObject([
      {
        role: 'tool',
        content: [
          'Read.',
          '<file name="a.txt" type="text/plain">\nabc\n</file>',
          '[An attachment cannot be shown: "b.zip" (application/zip)]',
        ].join('\n\n'),
      },
      { role: 'user', content: [{ type: 'image_url' }] },
    ]);
  });

  test('needs no user where nothing of it is shown', async () => {
    expect(await messagesAfterCall('', file('b.zip', 'application/zip'))).toMatchObject([
      { role: 'tool', content: '[An attachment cannot be shown: "b.zip" (application/zip)]' },
    ]);
  });
});
