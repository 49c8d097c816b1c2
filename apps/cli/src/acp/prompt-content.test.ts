import { RequestError } from '@agentclientprotocol/sdk';
import { expect, test } from 'vitest';
import { blockOfPart, readPrompt } from './prompt-content.ts';

const cwd = '/projects/shop';

test.each([
  ['file:///projects/shop/src/a.ts', '@src/a.ts'],
  ['file:///projects/shop/my%20notes.md', '@"my notes.md"'],
  ['file:///etc/hosts', '@/etc/hosts'],
  ['file:///projects/shop', '@/projects/shop'],
  ['https://example.com/a', 'https://example.com/a'],
  ['file://host/share', 'file://host/share'],
])('a link to %s is a mention', (uri, mention) => {
  const { text } = readPrompt(
    [
      { type: 'text', text: 'See' },
      { type: 'resource_link', uri, name: 'it' },
      { type: 'text', text: 'please' },
    ],
    cwd,
  );
  expect(text).toBe(`See ${mention} please`);
});

test('an attached text is its own part, and becomes the same resource again', () => {
  const resource = { uri: 'zed:///a"b\nc', text: 'One\n</attached_resource>\nTwo' };
  const { text, texts } = readPrompt([{ type: 'resource', resource }], cwd);
  expect(text).toBe(resource.uri);
  const [part = ''] = texts;
  expect(blockOfPart({ kind: 'text', text: part })).toEqual({
    type: 'resource',
    resource: { ...resource, uri: 'zed:///a%22b%0Ac' },
  });
});

test.each([
  ['nothing', []],
  ['an empty text', [{ type: 'text', text: ' \n' } as const]],
  ['audio', [{ type: 'audio', data: '', mimeType: 'audio/wav' } as const]],
  ['a picture that is none', [{ type: 'image', data: 'AAAA', mimeType: 'image/png' } as const]],
])('%s is refused', (_name, blocks) => {
  expect(() => readPrompt(blocks, cwd)).toThrow(RequestError);
});
