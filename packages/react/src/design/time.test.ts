import { expect, test } from 'vitest';
import { clockTime, dayOrTime, duration } from './time.tsx';

const morning = new Date(2026, 1, 3, 9, 5).getTime();
const evening = new Date(2026, 1, 3, 21, 5).getTime();

test.each([
  ['en', '9:05 AM', '9:05 PM'],
  ['de', '09:05', '21:05'],
  ['es', '9:05', '21:05'],
  ['zh', '09:05', '21:05'],
])('the time of day has the form that is usual in %s', (locale, early, late) => {
  // Some versions of ICU write a narrow space before AM and PM.
  const text = (at: number) => clockTime(at, locale).replace(/\s/u, ' ');
  expect([text(morning), text(evening)]).toEqual([early, late]);
});

test('a time of today is a time of day, and an earlier one a date', () => {
  expect(dayOrTime(morning, 'de', evening)).toBe('09:05');
  expect(dayOrTime(morning, 'en', evening + 86_400_000)).toBe('Feb 3');
});

test('a duration has the unit that fits it', () => {
  expect([850, 3210, 125_000].map(duration)).toEqual(['850 ms', '3.2 s', '2 min 5 s']);
});
