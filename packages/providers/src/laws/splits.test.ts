import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { frameRecording } from '../scripted-server/framing/frame-recording.ts';
import { type SseOptions, splitAt, splitEvery } from '../scripted-server/framing/sse-frames.ts';
import { drawnCasesOf, play } from '../testing/play.ts';
import { wireTable } from '../testing/wire-table.ts';

/** The different ways in which servers frame the same events. */
const variants: readonly SseOptions[] = [
  { lineEnding: '\n' },
  { lineEnding: '\r\n' },
  { lineEnding: '\r' },
  { lineEnding: 'mixed', comment: 'keep-alive' },
  { byteOrderMark: true, spaceAfterColon: false },
  { ending: 'line-end' },
  { ending: 'nothing', lineEnding: '\r\n' },
];

/** `npm test` draws one of the variants for each recording. */
const variantCount = isFull ? variants.length : 1;
const sampledOffsets = 200;
/** Number of single splits, in addition to all sampled offsets together. */
const loneSplits = isFull ? 10 : 3;

describe.each(wireTable)('law 2, $wire: any split of the bytes, any line ending', (under) => {
  test.each(drawnCasesOf(under.wire))('$name gives the same deltas', async ({ name, lines }) => {
    const reference = await play(under, name, [frameRecording(under.wire, lines)]);
    const [drawn = []] = fc.sample(
      fc.shuffledSubarray([...variants], { minLength: variantCount, maxLength: variantCount }),
      1,
    );
    for (const variant of drawn) {
      const bytes = frameRecording(under.wire, lines, variant);
      if (bytes.length < 2) continue;
      const offset = fc.integer({ min: 1, max: bytes.length - 1 });
      const [offsets = []] = fc.sample(
        fc.array(offset, { minLength: sampledOffsets, maxLength: sampledOffsets }),
        1,
      );
      const splits = [
        [bytes],
        splitEvery(bytes, 1),
        splitAt(bytes, offsets),
        ...offsets.slice(0, loneSplits).map((one) => splitAt(bytes, [one])),
      ];
      for (const chunks of splits) {
        const { deltas, completion } = await play(under, name, chunks);
        expect(deltas).toEqual(reference.deltas);
        expect(completion.stop).toEqual(reference.completion.stop);
        expect(completion.usage).toEqual(reference.completion.usage);
      }
    }
  });
});
