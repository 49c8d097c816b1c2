import { type Item, type Part, type Source, toolCallId } from '@millrace/core';
import { expect, test } from 'vitest';
import { createTestAgent, session } from '../testing/test-agent.ts';
import { inputGuardrail } from './define-guardrail.ts';

// A user wants the model to read a text that a guardrail of the agent refuses or masks.

const card = '4111111111111111';
const noCards = inputGuardrail({
  name: 'no-cards',
  check: ({ text }) => (text.includes(card) ? { verdict: 'stop', reason: 'a card' } : 'pass'),
});
const maskCards = inputGuardrail({
  name: 'mask-cards',
  check: ({ text }) =>
    text.includes(card) ? { verdict: 'change', to: text.replaceAll(card, '[card]') } : 'pass',
});
const encode = (text: string) => new TextEncoder().encode(text);
const wide = (text: string) => new Uint8Array(Buffer.from(`\ufeff${text}`, 'utf16le'));
const withFile = (mimeType: string, source: Source, name = 'a'): Pick<Item, 'kind' | 'parts'> => ({
  kind: 'user',
  parts: [
    { kind: 'text', text: 'Read it' },
    { kind: 'file', name, mimeType, source },
  ],
});

test.each([
  ['a text file', 'text/plain', encode(`Card ${card}`)],
  ['a text of a type without a meaning', 'application/octet-stream', encode(`Card ${card}`)],
  ['a text with the type of a picture', 'image/png', encode(`Card ${card}`)],
  ['UTF-8 that claims to be UTF-16', 'text/plain; charset=utf-16le', encode(`Card ${card}`)],
  ['UTF-16 that claims to be UTF-8', 'text/plain', wide(`Card ${card}`)],
  ['a media type', `application/x-${card}`, encode('\0')],
])('attack 18.272: %s passes the guardrails', async (_title, mimeType, bytes) => {
  const { agent, end, provider, log } = createTestAgent(['Thanks.'], { guardrails: [noCards] });
  const url = `data:${mimeType};base64,${Buffer.from(bytes).toString('base64')}`;
  const sources: readonly Source[] = [
    { type: 'bytes', bytes },
    { type: 'blob', ...(await log.blobs.put(bytes)) },
    { type: 'url', url },
  ];
  for (const source of sources) {
    const result = await end(agent.run([withFile(mimeType, source)], { session: source.type }));
    expect([source.type, result.reason]).toEqual([source.type, 'blocked']);
    expect((await agent.replay(source.type)).divergence).toBeUndefined();
  }
  expect(provider.requests).toEqual([]);
});

test.each([
  ['the name of a file', withFile('application/zip', { type: 'bytes', bytes: encode('\0') }, card)],
  ['a URL', withFile('image/png', { type: 'url', url: `https://a.example/${card}` })],
  [
    'a file of a tool result',
    {
      kind: 'tool',
      parts: [
        {
          ...{
            kind: 'tool_result',
            toolCallId: toolCallId('c'),
            name: 'a',
            text: '',
            isError: false,
          },
          attachments: withFile('text/plain', { type: 'bytes', bytes: encode(card) }).parts.slice(
            1,
          ),
        } as Part,
      ],
    },
  ],
  ['a system message', { kind: 'system', parts: [{ kind: 'text', text: card }] }],
] as const)('attack 18.272: %s passes the guardrails', async (_title, item) => {
  const { agent, end, provider } = createTestAgent(['Thanks.'], { guardrails: [noCards] });
  const question = { kind: 'user', parts: [{ kind: 'text', text: 'And?' }] } as const;
  expect((await end(agent.run([item, question], { session }))).reason).toBe('blocked');
  expect(provider.requests).toEqual([]);
});

test('attack 18.273: a guardrail masks a text, but the file stays', async () => {
  const { agent, end, provider, log } = createTestAgent(['Thanks.'], { guardrails: [maskCards] });
  const source = { type: 'blob', ...(await log.blobs.put(encode(`Card ${card}`))) } as const;
  await end(agent.run([withFile('text/plain', source)], { session }));
  expect(provider.requests[0]?.request.items.at(-1)?.parts).toEqual([
    { kind: 'text', text: 'Read it\n<file name="a" type="text/plain">\nCard [card]\n</file>' },
  ]);
  expect((await agent.replay(session)).divergence).toBeUndefined();
});

test('attack 18.274: a guardrail passes a file that is stored only after the check', async () => {
  const { agent, end, provider, log } = createTestAgent([], { guardrails: [noCards] });
  const { log: other } = createTestAgent([]);
  const stored = await other.blobs.put(encode(`Card ${card}`));
  const run = agent.run([withFile('text/plain', { type: 'blob', ...stored })], { session });
  expect((await end(run)).error).toMatchObject({ code: 'guardrail_failed' });
  await log.blobs.put(encode(`Card ${card}`));
  expect((await end(agent.resume(session))).reason).toBe('blocked');
  expect(provider.requests).toEqual([]);
});

test.each([
  ['escaped letters', `{"q":"${[...card].map((one) => `\\u003${one}`).join('')}"}`],
  ['an escaped key', `{"\\u0034${card.slice(1)}":1}`],
  ['a repeated key', `{"q":"\\u0034${card.slice(1)}","q":"calm"}`],
  ['an escape between two words', JSON.stringify({ q: `card\n${card}` })],
])('attack 18.322: arguments of a call with %s pass the guardrails', async (_title, given) => {
  const check = ({ text }: { readonly text: string }) =>
    /(?:^|[\s"])4111111111111111/.test(text)
      ? ({ verdict: 'stop', reason: 'a card' } as const)
      : 'pass';
  const guardrails = [inputGuardrail({ name: 'no-cards', check })];
  const { agent, end, provider } = createTestAgent(['Thanks.'], { guardrails });
  const of = { toolCallId: toolCallId('c'), name: 'note' };
  const items: Pick<Item, 'kind' | 'parts'>[] = [
    { kind: 'assistant', parts: [{ kind: 'tool_call', ...of, arguments: given }] },
    { kind: 'tool', parts: [{ kind: 'tool_result', ...of, text: 'ok', isError: false }] },
    { kind: 'user', parts: [{ kind: 'text', text: 'And?' }] },
  ];
  expect((await end(agent.run(items, { session }))).reason).toBe('blocked');
  expect(provider.requests).toEqual([]);
});

test('18.1735: attack: a Word document has a text that the guardrails do not read', async () => {
  const type = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
  const texts: string[] = [];
  const onlyPictures = inputGuardrail({
    name: 'only-pictures',
    check: ({ item, text }) => {
      texts.push(text);
      const files = item.parts.filter(({ kind }) => kind === 'file' || kind === 'media');
      const isKnown = files.every((file) => 'mimeType' in file && /^image\//.test(file.mimeType));
      return isKnown ? 'pass' : { verdict: 'stop', reason: 'only pictures' };
    },
  });
  const { agent, end, provider } = createTestAgent(['Thanks.'], { guardrails: [onlyPictures] });
  const bytes = new Uint8Array([0x50, 0x4b, 3, 4, 0, 0]);
  const picture = withFile('image/png', { type: 'bytes', bytes });
  expect((await end(agent.run([picture], { session: 'picture' }))).reason).toBe('stop');
  const document = withFile(type, { type: 'bytes', bytes }, 'note.docx');
  const refused = await end(agent.run([document], { session: 'document' }));
  expect(refused.reason).toBe('blocked');
  expect(texts.at(-1)).toContain(`note.docx ${type}`);
  expect(provider.requests).toHaveLength(1);
});
