import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maxLiveRows, type ScreenParts, screenLayout } from './screen-layout.ts';

const lines = (max: number) => fc.array(fc.constant('line'), { maxLength: max });
const clipTo = (all: readonly string[]) => (room: number) => all.slice(0, room);

const parts: fc.Arbitrary<ScreenParts> = fc.record({
  rows: fc.integer({ min: 1, max: 60 }),
  promptRows: fc.integer({ min: 0, max: 20 }),
  status: fc.array(fc.constant('status'), { minLength: 1, maxLength: 2 }),
  activity: fc.option(fc.constant('activity'), { nil: undefined }),
  queued: lines(5),
  dialog: fc.option(lines(100).map(clipTo), { nil: undefined }),
  live: lines(100).map(clipTo),
});

test('the layout is lower than the terminal if the prompt is', () => {
  fc.assert(
    fc.property(parts, (given) => {
      const { above, below } = screenLayout(given);
      const height = above.length + below.length + given.promptRows;
      expect(height).toBeLessThanOrEqual(Math.max(given.promptRows, maxLiveRows(given.rows)));
      if (given.rows > 2) expect(maxLiveRows(given.rows)).toBeLessThan(given.rows - 1);
    }),
  );
});

test('a dialog has priority over other content', () => {
  const dialog = (room: number) => ['asked', 'choice'].slice(0, room);
  const live = (room: number) => Array.from({ length: 50 }, () => 'live').slice(0, room);
  const base = { promptRows: 0, status: ['status'], activity: 'activity', queued: ['queued'] };
  expect(screenLayout({ ...base, rows: 5, dialog, live })).toEqual({
    above: ['asked', 'choice'],
    below: ['status'],
  });
  const { above } = screenLayout({ ...base, rows: 12, dialog, live });
  expect(above).toEqual([
    ...['live', 'live', 'live', 'live', ''],
    'activity',
    'queued',
    'asked',
    'choice',
  ]);
});
