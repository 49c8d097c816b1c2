import { TestClock } from '@millrace/log/suite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Playback, type Speed, speeds } from './playback.ts';

function setUp(positions: number[]) {
  const clock = new TestClock(0);
  const moves: { readonly index: number; readonly at: number }[] = [];
  const ends: number[] = [];
  const playback = new Playback({
    recording: { length: () => positions.length, positionOf: (index) => positions[index] ?? 0 },
    clock,
    onMove: (index) => void moves.push({ index, at: clock.now() }),
    onStop: () => void ends.push(clock.now()),
  });
  return { clock, moves, ends, playback };
}

describe('playback', () => {
  test('shows each record at its time and stops at the last one', async () => {
    const { clock, moves, ends, playback } = setUp([0, 100, 1100, 1500]);
    playback.play(0, 1);
    await clock.advance(2000);
    expect(moves).toEqual([
      { index: 1, at: 100 },
      { index: 2, at: 1100 },
      { index: 3, at: 1500 },
    ]);
    expect(ends).toEqual([1500]);
    expect(playback.isPlaying).toBe(false);
  });

  test.each([
    [0.5, 2000],
    [4, 250],
    [20, 50],
  ] as const)('at %s× a second takes %s ms', async (speed, ms) => {
    const { clock, moves, playback } = setUp([0, 1000]);
    playback.play(0, speed);
    await clock.advance(5000);
    expect(moves).toEqual([{ index: 1, at: ms }]);
  });

  test('at maximum speed reaches the end immediately', () => {
    const { moves, ends, playback } = setUp([0, 1000, 99_000]);
    playback.play(0, 'at once');
    expect(moves).toEqual([{ index: 2, at: 0 }]);
    expect(ends).toEqual([0]);
  });

  test('shows records that are due together together', async () => {
    const { clock, moves, playback } = setUp([0, 3, 5, 8, 12, 400]);
    playback.play(0, 1);
    await clock.advance(1000);
    expect(moves.map(({ index }) => index)).toEqual([4, 5]);
  });

  test('pauses, and continues from the given record', async () => {
    const { clock, moves, playback } = setUp([0, 100, 200, 300]);
    playback.play(0, 1);
    await clock.advance(150);
    playback.pause();
    await clock.advance(10_000);
    expect(moves).toEqual([{ index: 1, at: 100 }]);
    playback.play(2, 1);
    await clock.advance(100);
    expect(moves.at(-1)).toEqual({ index: 3, at: 10_250 });
  });

  test('changes its speed between two records without losing its position', async () => {
    const { clock, moves, playback } = setUp([0, 1000]);
    playback.play(0, 1);
    await clock.advance(500);
    playback.setSpeed(0.5);
    await clock.advance(999);
    expect(moves).toEqual([]);
    await clock.advance(1);
    expect(moves).toEqual([{ index: 1, at: 1500 }]);
  });

  test('continues with records that arrive during playback', async () => {
    const positions = [0, 500];
    const { clock, moves, playback } = setUp(positions);
    playback.play(0, 1);
    await clock.advance(100);
    positions.push(600);
    await clock.advance(1000);
    expect(moves.map(({ index }) => index)).toEqual([1, 2]);
  });

  test('is in order, never early and complete, at any speed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(500), { minLength: 1, maxLength: 30 }),
        fc.constantFrom<Speed>(...speeds),
        async (gaps, speed) => {
          let at = 0;
          const positions = gaps.map((ms) => (at += ms));
          const { clock, moves, ends, playback } = setUp(positions);
          playback.play(0, speed);
          await clock.advance(100_000);
          const start = positions[0] ?? 0;
          for (const [place, move] of moves.entries()) {
            expect(move.index).toBeGreaterThan(moves[place - 1]?.index ?? 0);
            if (speed === 'at once') continue;
            const due = ((positions[move.index] ?? 0) - start) / speed;
            expect(move.at).toBeGreaterThanOrEqual(due - 0.001);
          }
          expect(ends).toHaveLength(1);
          expect(moves.at(-1)?.index ?? 0).toBe(positions.length - 1);
        },
      ),
    );
  });
});
