import { DeltaWriter, type JsonValue, noUsage, PartialJson } from '@millrace/core';
import { createProvider } from '@millrace/providers';
import { type ScriptedPieces, scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { expect, expectTypeOf, test, vi } from 'vitest';
import { z } from 'zod';
import { runs } from '../../../core/src/testing/runs.ts';
import { createAgent } from '../create-agent.ts';

/** The values of `structured_updated` events, and the names of all events. */
async function updatesOf(json: string, pieces: ScriptedPieces) {
  const provider = scriptedProvider([json], { pieces });
  const run = createAgent({ provider, output: z.any() }).run('Go');
  const values: JsonValue[] = [];
  const types: string[] = [];
  for await (const event of run.events) {
    types.push(event.type);
    if (event.type === 'structured_updated') values.push(event.value);
  }
  return { values, types };
}

test('20.9: structured_updated comes while the answer streams, with all that is known', async () => {
  const output = z.object({ city: z.enum(['Ulm', 'Bonn']), days: z.array(z.number()) });
  const texts = ['{"city":"U', 'lm","days"', ':[1,2', ']}'];
  let seen = Promise.withResolvers<void>();
  // Each piece is sent after the reader has seen the update of the piece before.
  const provider = createProvider('gated', 'm', async function* (_request, { item, ids }) {
    const { id: itemId, turn, attempt } = item;
    const writer = new DeltaWriter({ itemId, turn, attempt, ids });
    const part = writer.text({ mimeType: 'application/json' });
    for (const text of texts) {
      seen = Promise.withResolvers<void>();
      part.append(text);
      yield { deltas: writer.take() };
      await seen.promise;
    }
    const value = JSON.parse(texts.join('')) as JsonValue;
    part.replace({ kind: 'structured', value });
    yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage: noUsage } };
  });
  const run = createAgent({ provider, output }).run('Go');
  const values: unknown[] = [];
  for await (const event of run.events) {
    if (event.type !== 'structured_updated') continue;
    expectTypeOf(event.value).toEqualTypeOf<{
      readonly city?: string;
      readonly days?: readonly number[];
    }>();
    values.push(event.value);
    seen.resolve();
  }
  expect(values).toEqual([
    { city: 'U' },
    { city: 'Ulm' },
    { city: 'Ulm', days: [1] },
    { city: 'Ulm', days: [1, 2] },
    { city: 'Ulm', days: [1, 2] },
  ]);
  expect(await run.value()).toEqual({ city: 'Ulm', days: [1, 2] });
});

test('20.9: each value extends the one before, and the last one is the answer', async () => {
  const pieces = fc.constantFrom<ScriptedPieces>('whole', 'token', 'character');
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), pieces, async (value, how) => {
      const json = JSON.stringify(value);
      const { values } = await updatesOf(json, how);
      expect(values.at(-1)).toEqual(JSON.parse(json));
      for (const [index, later] of values.slice(1).entries())
        expect(extendsValue(values[index] ?? null, later)).toBe(true);
    }),
    { numRuns: runs(30) },
  );
});

function extendsValue(before: JsonValue, later: JsonValue): boolean {
  if (typeof before === 'string') return typeof later === 'string' && later.startsWith(before);
  if (typeof before !== 'object' || before === null) return before === later;
  return Object.entries(before).every(([key, value]) => {
    const now = Object.getOwnPropertyDescriptor(later, key)?.value as JsonValue | undefined;
    return now !== undefined && extendsValue(value as JsonValue, now);
  });
}

test('20.9: the text is parsed once, and a long value is reported in proportion', async () => {
  const feed = vi.spyOn(PartialJson.prototype, 'feed');
  const json = JSON.stringify({ list: Array.from({ length: 3000 }, (_, index) => index) });
  const { values } = await updatesOf(json, 'token');
  const fed = feed.mock.calls.map(([fragment]) => fragment).join('');
  feed.mockRestore();
  expect(fed).toBe(json);
  // Each report has at least 1/256 more text than the one before, which allows at most this many.
  expect(values.length).toBeLessThan(256 * (1 + Math.log(json.length / 256)) + 2);
});

test('20.9: plain text and text that is not JSON give no structured_updated', async () => {
  const provider = scriptedProvider(['{"a":1}'], { pieces: 'character' });
  const plain: string[] = [];
  for await (const { type } of createAgent({ provider }).run('Go').events) plain.push(type);
  expect(plain).not.toContain('structured_updated');
  const { types } = await updatesOf('I refuse.', 'character');
  expect(types).not.toContain('structured_updated');
});
