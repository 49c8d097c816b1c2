import type { Delta } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { observe } from '../conformance/observe.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { splitAt } from '../scripted-server/index.ts';
import { called, finished, framed, said } from '../testing/chat-events.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { mapText } from './map-text.ts';
import type { ModelRequest } from './model-request.ts';
import type { Provider } from './provider.ts';
import { wrapProvider } from './wrap-provider.ts';

const chat = (fetcher: typeof fetch) =>
  openaiChat({ model: 'm', apiKey: 'nobody', fetch: fetcher });

const mapped = (provider: Provider, change: (chunk: string) => string) =>
  wrapProvider(provider, (request, context, next) => mapText(next(request, context), change));

const changes: Readonly<Record<string, (chunk: string) => string>> = {
  nothing: (chunk) => chunk,
  shorter: (chunk) => chunk.slice(2),
  longer: (chunk) => `<${chunk}${chunk}>`,
  gone: () => '',
  'gone at times': (chunk) => (chunk.length % 2 === 0 ? '' : chunk),
  hidden: (chunk) => chunk.replaceAll(/[a-z]/g, '*'),
  'half a character': (chunk) => `${chunk}\ud83d`,
  'cut through characters': (chunk) => chunk.slice(1, -1),
};

const thought = (text: string) =>
  JSON.stringify({ choices: [{ index: 0, delta: { reasoning_content: text } }] });
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀', ' ', '\n'), maxLength: 8 });
const event = fc.oneof(
  { weight: 4, arbitrary: text.map(said) },
  text.map(thought),
  fc.constant(called('{"a":1}', 'add')),
);
const endings = fc.constantFrom(finished(), finished('length'), '{"error":"no"}', '');

/** The chunks of all texts, in order, each with its part. */
const chunksOf = (deltas: readonly Delta[]) => {
  const texts = new Set(
    deltas.flatMap((delta) =>
      delta.type === 'begin_part' && delta.kind === 'text' ? delta.partId : [],
    ),
  );
  return deltas.flatMap((delta) =>
    delta.type === 'append_text' && texts.has(delta.partId) ? [delta] : [],
  );
};

describe.each(Object.entries(changes))('text that is changed: %s', (_, change) => {
  test('is legal, and what the change makes of each chunk', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 12 }),
        endings,
        fc.array(fc.nat(400), { maxLength: 4 }),
        async (events, ending, cuts) => {
          const bytes = new TextEncoder().encode(framed(...events, ending));
          const offsets = cuts.filter((at) => at <= bytes.length);
          const { fetch } = fetchOf(splitAt(bytes, offsets));
          const before = await observe(chat(fetch));
          // Holds each delta against the protocol, and the end against the contract.
          const after = await observe(mapped(chat(fetch), change));
          const expected = chunksOf(before.deltas).flatMap(({ partId, chunk }) => {
            const changed = change(chunk).toWellFormed();
            return changed === '' ? [] : { partId, chunk: changed };
          });
          expect(chunksOf(after.deltas).map(({ partId, chunk }) => ({ partId, chunk }))).toEqual(
            expected,
          );
          const others = (deltas: readonly Delta[]) =>
            deltas.filter(({ type }) => type !== 'append_text' && type !== 'commit_part');
          expect(others(after.deltas)).toEqual(others(before.deltas));
          const { error, ...end } = after.end;
          const { error: firstError, ...firstEnd } = before.end;
          expect(end).toEqual(firstEnd);
          expect(error?.message).toBe(firstError?.message);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('text that is changed', () => {
  const { fetch } = fetchOf([framed(said('{"a":'), said('1}'), thought('why'), finished())]);

  test('is only text: reasoning, calls and values stay', async () => {
    const output: ModelRequest = { items: [], output: { name: 'answer', schema: {} } };
    const loud = mapped(chat(fetch), (chunk) => chunk.toUpperCase());
    const { item } = await loud.complete(output);
    expect(item.parts).toMatchObject([
      { kind: 'structured', value: { a: 1 } },
      { kind: 'reasoning', text: 'why' },
    ]);
  });

  test('that came whole is changed in one piece', async () => {
    const whole = wrapProvider(chat(fetch), async function* (request, context, next) {
      for await (const step of next(request, context)) {
        const deltas = step.deltas.flatMap((delta): readonly Delta[] => {
          if (delta.type !== 'commit_part' || delta.part !== undefined) return [];
          const itemId = context.item.id;
          const part = { kind: 'text', text: 'whole' } as const;
          return [{ type: 'commit_part', partId: delta.partId, itemId, part }];
        });
        yield { ...step, deltas };
      }
    });
    const { item } = await observe(mapped(whole, (chunk) => `<${chunk}>`));
    expect(item.parts).toEqual([
      { kind: 'text', text: '<whole>' },
      { kind: 'text', text: '<whole>' },
    ]);
  });
});
