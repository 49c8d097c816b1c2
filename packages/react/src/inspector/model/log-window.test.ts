import type { OutlineSegment, TaskOutline } from '@millrace/client';
import { noUsage } from '@millrace/core';
import { expect, test } from 'vitest';
import { countRecords, includes, wholeRecords, windowFor } from './log-window.ts';

/**
 * Returns an outline with segments of 1,000 records. The segments in `inside` start in the middle
 * of a run.
 */
function outlineOf(count: number, inside: readonly number[] = []): TaskOutline {
  const segments = Array.from(
    { length: count },
    (_, index): OutlineSegment => ({
      ...{ after: index * 1000, through: (index + 1) * 1000, records: 1000 },
      ...{ start_time: index, end_time: index + 1, runs: 1, turns: 1, calls: 0, errors: 0 },
      ...{ first_turn: index + 1, is_run_start: !inside.includes(index), usage: noUsage },
    }),
  );
  return { task_id: 't', through: count * 1000, is_whole: true, segments };
}

test('a short session is read as a whole', () => {
  const outline = outlineOf(5);
  expect(countRecords(outline)).toBe(wholeRecords);
  for (const at of [undefined, 1, 4000])
    expect(windowFor(outline, at)).toEqual({ after: 0, until: undefined, isRunStart: true });
});

test('a long session is read around the selected record', () => {
  const outline = outlineOf(100);
  expect(windowFor(outline, 90_000)).toEqual({ after: 88_000, until: 91_000, isRunStart: true });
  expect(windowFor(outline, 90_001)).toEqual({ after: 89_000, until: 92_000, isRunStart: true });
  expect(windowFor(outline, 1)).toEqual({ after: 0, until: 2000, isRunStart: true });
  expect(windowFor(outline, 0)).toEqual(windowFor(outline, 1));
});

test('the current state is the end of the log, and a later record too', () => {
  const end = { after: 98_000, until: undefined, isRunStart: true };
  expect(windowFor(outlineOf(100), undefined)).toEqual(end);
  expect(windowFor(outlineOf(100), 100_000)).toEqual(end);
  expect(windowFor(outlineOf(100), 1e9)).toEqual(end);
});

test('the window starts at the run of the record, unless that is very far', () => {
  const near = outlineOf(100, [86, 87, 88, 89]);
  expect(windowFor(near, 89_500)).toEqual({ after: 85_000, until: 91_000, isRunStart: true });
  const far = outlineOf(
    100,
    Array.from({ length: 100 }, (_, index) => index),
  );
  expect(windowFor(far, 89_500)).toEqual({ after: 88_000, until: 91_000, isRunStart: false });
});

test('a window includes the records up to its end', () => {
  const window = windowFor(outlineOf(100), 90_000);
  expect([88_000, 88_001, 91_000, 91_001, undefined].map((at) => includes(window, at))).toEqual([
    ...[false, true, true, false, false],
  ]);
  expect(includes(windowFor(outlineOf(100), undefined), undefined)).toBe(true);
});
