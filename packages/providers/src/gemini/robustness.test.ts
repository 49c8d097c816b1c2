import { countingIds, type Item, itemId, type JsonObject } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import type { Completion } from '../contract/provider.ts';
import { fetchOf, sseOf } from '../testing/fetch-of.ts';
import { type Recording, recordingsOf } from '../testing/recordings.ts';
import { gemini } from './provider.ts';

const question: Item = { id: itemId('u1'), kind: 'user', parts: [{ kind: 'text', text: '?' }] };

function answer(events: readonly (object | string)[]): Promise<Completion> {
  const { fetch } = fetchOf([sseOf(events)]);
  const provider = gemini({ model: 'gemini-3-pro-preview', apiKey: 'k', fetch });
  return provider.complete({ items: [question] }, { ids: countingIds() });
}

const recordings = recordingsOf('gemini');
const sound = recordings.filter(({ name }) => !name.startsWith('bad-'));
const named = (list: readonly Recording[]) => list.map((each) => [each.name, each.events] as const);

test.each(named(sound))(
  '%s: cut before its terminal event it is never a success',
  async (_, events) => {
    const isTerminal = (event: string) => /"finishReason"|"blockReason"/.test(event);
    const last = events.findIndex(isTerminal);
    for (let length = 0; length <= last; length++) {
      const { error, stop } = await answer(events.slice(0, length));
      expect(error?.kind).toBe('truncated_stream');
      expect(stop.reason).toBe('error');
    }
  },
);

test.each(named(sound))(
  '%s: its last event twice, and unknown events, change nothing',
  async (_, events) => {
    const once = await answer(events);
    const unknown = { type: 'weather', candidates: [{ index: 3 }] };
    const more = await answer([unknown, ...events, unknown, ...events.slice(-1)]);
    expect(more.item.parts).toEqual(once.item.parts);
    expect(more.stop).toEqual(once.stop);
    expect(more.usage).toEqual(once.usage);
  },
);

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('', null, 0, {}, [], 'STOP', '$.a', 'AQID', true),
);
const maybe = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record(fields, { requiredKeys: [] });
const partial = maybe({ jsonPath: odd, stringValue: odd, numberValue: odd, nullValue: odd });
const functionCall = maybe({
  name: fc.oneof(odd, fc.constantFrom('a', 'b')),
  args: odd,
  id: odd,
  willContinue: fc.oneof(odd, fc.boolean()),
  partialArgs: fc.oneof(odd, fc.array(fc.oneof(odd, partial))),
});
const part = maybe({
  text: fc.oneof(odd, fc.string()),
  thought: fc.oneof(odd, fc.boolean()),
  thoughtSignature: odd,
  functionCall: fc.oneof(odd, functionCall),
  inlineData: fc.oneof(odd, maybe({ mimeType: odd, data: odd })),
  hologram: odd,
});
const candidate = maybe({
  index: fc.oneof(odd, fc.constant(0)),
  content: fc.oneof(odd, fc.record({ parts: fc.array(fc.oneof(odd, part)) })),
  finishReason: fc.oneof(odd, fc.constantFrom('STOP', 'MALFORMED_FUNCTION_CALL')),
  finishMessage: odd,
  groundingMetadata: fc.oneof(odd, maybe({ groundingChunks: fc.array(odd) })),
});
const response = maybe({
  candidates: fc.oneof(odd, fc.array(fc.oneof(odd, candidate))),
  usageMetadata: fc.oneof(odd, maybe({ promptTokenCount: odd, candidatesTokenCount: odd })),
  promptFeedback: fc.oneof(odd, maybe({ blockReason: odd })),
  responseId: odd,
}) as fc.Arbitrary<JsonObject>;

test('law: whatever the shapes, an answer ends, every part closed, and is never misread', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(response, { maxLength: 6 }), async (events) => {
      const { error, stop, item } = await answer(events);
      expect(error?.message ?? '').not.toContain('could not be read');
      expect(stop.reason === 'error').toBe(error !== undefined);
      expect(item.stop).toEqual(stop);
    }),
    { numRuns: runs(1000) },
  );
});
