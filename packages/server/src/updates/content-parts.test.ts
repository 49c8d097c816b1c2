import { type Part, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contentSchema } from '../contract/content.ts';
import { contents } from '../testing/random-updates.ts';
import { contentToParts, partToContent, reasoningContent } from './content-parts.ts';

test('content survives the conversion to parts and back', () => {
  fc.assert(
    fc.property(contents, (content) => {
      const parts = contentToParts(content);
      const [first] = parts;
      const back =
        first.kind === 'reasoning'
          ? reasoningContent(
              parts.filter((part) => part.kind === 'reasoning'),
              content.author,
            )
          : partToContent(first, content.author);
      expect(back).toEqual(content);
    }),
  );
});

const call = { toolCallId: toolCallId('c'), name: 'read' };
const picture = {
  kind: 'media',
  mimeType: 'image/png',
  source: { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
} as const;

test.each<[string, Part, object]>([
  ['a picture can be shown as it is', picture, { url: 'data:image/png;base64,AQID' }],
  [
    'a file in a blob has its hash',
    {
      ...{ kind: 'file', name: 'a.pdf', mimeType: 'application/pdf' },
      source: { type: 'blob', hash: 'h', length: 9 },
    },
    { name: 'a.pdf', mime_type: 'application/pdf', blob: 'h', length: 9 },
  ],
  [
    'an external image has its URL',
    { ...picture, source: { type: 'url', url: 'https://example.com/a.png' } },
    { url: 'https://example.com/a.png' },
  ],
  ['a list is an object with the list in it', { kind: 'structured', value: [1] }, { value: [1] }],
  ['a custom part has its name', { kind: 'custom', name: 'n', value: 1 }, { name: 'n', value: 1 }],
])('%s', (_claim, part, data) => {
  const content = partToContent(part, 'agent');
  expect(content).toMatchObject({ type: 'data', data });
  expect(contentSchema.parse(content)).toEqual(content);
});

test('arguments that are not JSON stay visible', () => {
  const content = partToContent({ kind: 'tool_call', ...call, arguments: '{"pa' }, 'agent');
  expect(content).toMatchObject({ arguments: { invalid_json: '{"pa' } });
});

test('a result includes its images', () => {
  const result = { kind: 'tool_result', ...call, text: 'seen', isError: true } as const;
  expect(partToContent({ ...result, attachments: [picture] }, 'agent')).toMatchObject({
    content: { result: 'seen', attachments: [{ url: 'data:image/png;base64,AQID' }] },
    is_error: true,
  });
});
