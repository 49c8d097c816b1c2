import type { Delta, Part } from '@millrace/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { observe } from '../conformance/observe.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { openaiChat } from '../openai-chat/provider.ts';
import { scriptedProvider } from '../scripted/scripted-provider.ts';
import { splitAt } from '../scripted-server/index.ts';
import { finishEvent, sseText, textEvent, toolCallEvent } from '../testing/chat-events.ts';
import { fetchOf } from '../testing/fetch-of.ts';
import { helloItems } from '../testing/hello-items.ts';
import { mapText, type PartTextChange, type TextChange } from './map-text.ts';
import { wrapProvider } from './wrap-provider.ts';

const chat = (fetcher: typeof fetch) =>
  openaiChat({ model: 'm', apiKey: 'nobody', fetch: fetcher });

const mapped = (provider: Provider, change: TextChange) =>
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
  { weight: 4, arbitrary: text.map(textEvent) },
  text.map(thought),
  fc.constant(toolCallEvent('{"a":1}', 'add')),
);
const endings = fc.constantFrom(finishEvent(), finishEvent('length'), '{"error":"no"}', '');

/** The chunks of each text, in order. */
const textsOf = (deltas: readonly Delta[]) => {
  const texts = new Map<string, string[]>();
  for (const delta of deltas) {
    if (delta.type === 'begin_part' && delta.kind === 'text') texts.set(delta.partId, []);
    if (delta.type === 'append_text') texts.get(delta.partId)?.push(delta.chunk);
  }
  return texts;
};
/** All texts, joined. */
const joined = (texts: ReadonlyMap<string, readonly string[]>) =>
  [...texts].map(([id, chunks]) => [id, chunks.join('')]);

describe.each(Object.entries(changes))('text that is changed: %s', (_, change) => {
  test('is legal, and what the change makes of each chunk, joined', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 12 }),
        endings,
        fc.array(fc.nat(400), { maxLength: 4 }),
        async (events, ending, cuts) => {
          const bytes = new TextEncoder().encode(sseText(...events, ending));
          const offsets = cuts.filter((at) => at <= bytes.length);
          const { fetch } = fetchOf(splitAt(bytes, offsets));
          const before = await observe(chat(fetch));
          // Checks each delta against the protocol, and the end against the contract.
          const after = await observe(mapped(chat(fetch), change));
          const expected = [...textsOf(before.deltas)].map(
            ([id, chunks]) => [id, chunks.map(change).join('').toWellFormed()] as const,
          );
          const changed = textsOf(after.deltas);
          expect(joined(changed)).toEqual(expected);
          expect([...changed.values()].flat().every((chunk) => chunk.isWellFormed())).toBe(true);
          const others = (deltas: readonly Delta[]) =>
            deltas.filter(({ type }) => type !== 'append_text' && type !== 'commit_part');
          expect(others(after.deltas)).toEqual(others(before.deltas));
          const { error, ...end } = after.end;
          const { error: firstError, ...firstEnd } = before.end;
          expect(end).toEqual(firstEnd);
          expect(error?.message).toBe(firstError?.message);
        },
      ),
      { numRuns: runs(150) },
    );
  });
});

describe('text that is changed', () => {
  const { fetch } = fetchOf([
    sseText(textEvent('{"a":'), textEvent('1}'), thought('why'), finishEvent()),
  ]);

  const output: ModelRequest = { items: helloItems, output: { name: 'answer', schema: {} } };

  test('is only text: reasoning and calls stay', async () => {
    const events = [textEvent('a'), thought('why'), toolCallEvent('{"a":1}', 'add'), finishEvent()];
    const loud = mapped(chat(fetchOf([sseText(...events)]).fetch), (chunk) => chunk.toUpperCase());
    const { item } = await loud.complete({ items: helloItems });
    expect(item.parts).toMatchObject([
      { kind: 'text', text: 'A' },
      { kind: 'reasoning', text: 'why' },
      { kind: 'tool_call', arguments: '{"a":1}' },
    ]);
  });

  test('that ends as a value is changed there too, so that nothing shows what was hidden', async () => {
    const loud = mapped(chat(fetch), (chunk) => chunk.toUpperCase());
    const { item, value } = await loud.complete(output);
    expect(item.parts).toMatchObject([
      { kind: 'structured', value: { A: 1 }, name: 'answer' },
      { kind: 'reasoning', text: 'why' },
    ]);
    expect(value).toEqual({ A: 1 });
  });

  test('that is not JSON any more ends as text', async () => {
    const hidden = mapped(chat(fetch), (chunk) => chunk.replaceAll(/["{}]/g, '*'));
    const { item, value } = await hidden.complete(output);
    expect(item.parts[0]).toEqual({ kind: 'text', text: '**a*:1*' });
    expect(value).toBeUndefined();
  });

  test('stays a value where it never streamed as text', async () => {
    const parts: readonly Part[] = [{ kind: 'structured', value: 'secret' }];
    const loud = mapped(scriptedProvider([{ content: { parts } }]), () => '');
    expect((await loud.complete({ items: helloItems })).item.parts).toEqual(parts);
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

/** Emits words only when they are complete, and counts the parts that it was created for. */
function hiding(word: string) {
  const made: string[] = [];
  const change = (): PartTextChange => {
    let held = '';
    const hide = (text: string) => text.replaceAll(word, '*'.repeat(word.length));
    const number = made.push('open') - 1;
    return {
      chunk: (text) => {
        const all = held + text;
        held = all.match(/\w*$/)?.[0] ?? '';
        return hide(all.slice(0, all.length - held.length));
      },
      end: () => {
        made[number] = 'ended';
        return hide(held);
      },
    };
  };
  return { change, made };
}

describe('a change that remembers', () => {
  test('sees a word that is split over chunks, however they are cut', async () => {
    const pieces = fc.oneof(
      fc.constantFrom('character' as const, 'token' as const, 'whole' as const),
      fc.record({ seed: fc.integer() }),
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (cut) => {
        const provider = scriptedProvider(['my secret is: secret'], { pieces: cut });
        const { item } = await observe(mapped(provider, hiding('secret').change));
        expect(item.parts).toEqual([{ kind: 'text', text: 'my ****** is: ******' }]);
      }),
    );
  });

  test('is flushed where the part was cut off', async () => {
    const provider = scriptedProvider([
      { content: { parts: ['a secret'] }, fault: { type: 'cut', after: 8 } },
    ]);
    const { item } = await observe(mapped(provider, hiding('secret').change));
    expect(item.parts).toEqual([{ kind: 'text', text: 'a ******', partial: true }]);
  });

  test('is made for each part, and once more for what replaces it', async () => {
    const { change, made } = hiding('a');
    const provider = scriptedProvider([{ content: { parts: ['a', 'b'] } }]);
    await observe(mapped(provider, change));
    expect(made).toEqual(['ended', 'ended']);
    const again = hiding('a');
    const { fetch } = fetchOf([sseText(textEvent('["a'), textEvent('"]'), finishEvent())]);
    const output = { name: 'answer', schema: {} };
    const { value } = await mapped(chat(fetch), again.change).complete({
      items: helloItems,
      output,
    });
    expect(value).toEqual(['*']);
    expect(again.made).toEqual(['open', 'ended']);
  });

  test('may cut through characters: their halves are joined again', async () => {
    const late = (): PartTextChange => {
      let held = '';
      return {
        chunk: (text) => {
          const all = held + text;
          held = all.slice(-1);
          return all.slice(0, -1);
        },
        end: () => held,
      };
    };
    const { item } = await observe(mapped(scriptedProvider(['a😀😀']), late));
    expect(item.parts).toEqual([{ kind: 'text', text: 'a😀😀' }]);
  });

  test('need not say anything at the end', async () => {
    const { item } = await observe(
      mapped(scriptedProvider(['ab']), () => ({ chunk: (text) => text.toUpperCase() })),
    );
    expect(item.parts).toEqual([{ kind: 'text', text: 'AB' }]);
  });
});
