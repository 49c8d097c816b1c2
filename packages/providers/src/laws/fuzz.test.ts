import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../core/src/testing/runs.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { casesOf, play } from '../testing/play.ts';
import { wireTable } from '../testing/wire-table.ts';

const numRuns = runs(10_000);

/** A change of the bytes at a position, given as a fraction of the length. */
const mutation = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat(40),
  insert: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc
      .constantFrom(
        '{',
        '}',
        '"',
        '\\',
        '\n\n',
        '\r',
        'data: ',
        ':',
        'null',
        '[]',
        '1e999',
        '\\ud83d',
      )
      .map((text) => new TextEncoder().encode(text)),
  ),
});

function mutate(
  bytes: Uint8Array,
  changes: readonly {
    readonly place: number;
    readonly remove: number;
    readonly insert: Uint8Array;
  }[],
): Uint8Array {
  return changes.reduce((before, { place, remove, insert }) => {
    const at = Math.floor(place * before.length);
    const after = before.subarray(Math.min(before.length, at + remove));
    return Uint8Array.of(...before.subarray(0, at), ...insert, ...after);
  }, bytes);
}

const all = wireTable.flatMap((under) =>
  casesOf(under.wire)
    .filter(({ lines }) => lines.join('').length < 20_000)
    .map((one) => ({ under, ...one })),
);

test(`${numRuns} random mutations of recordings each give a result or a typed error`, async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const changes = fc.array(mutation, { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...all),
      changes,
      async ({ under, name, lines }, mutations) => {
        const bytes = mutate(frameRecording(under.wire, lines), mutations);
        const { completion, deltas } = await play(under, name, [bytes]);
        const { error } = completion;
        if (error !== undefined) {
          expect(error).toBeInstanceOf(ProviderError);
          // A defect of our code would appear as an error of the engine.
          expect(error.cause).not.toBeInstanceOf(TypeError);
          expect(error.cause).not.toBeInstanceOf(RangeError);
        }
        expect(deltas.length).toBeLessThan(bytes.length + 10);
      },
    ),
    { numRuns },
  );
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});
