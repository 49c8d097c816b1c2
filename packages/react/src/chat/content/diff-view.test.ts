import { expect, test } from 'vitest';
import { cutLines, limitsAt } from './diff-view.tsx';

test.each([10, 100, 3000, 1_000_000])('all of %d lines are shown at the last level', (count) => {
  const all = Array.from({ length: count }, (_, at) => at);
  const levels = Array.from({ length: 6 }, (_, level) => cutLines(all, limitsAt(level)));
  for (const { head, tail, between } of levels) {
    expect(head.length + tail.length + between).toBe(count);
    expect([...head, ...tail].at(-1)).toBe(count - 1);
  }
  expect(levels.at(-1)?.between).toBe(0);
  expect(levels[0]?.head.length).toBeLessThanOrEqual(20);
});
