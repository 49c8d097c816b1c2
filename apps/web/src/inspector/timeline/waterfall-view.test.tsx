import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openDomPage } from '../../testing/dom-page.ts';
import type { Bar } from '../model/bar.ts';
import { labelPosition } from './waterfall-view.tsx';

const bar: Bar = {
  ...{ key: 'a', kind: 'approval', depth: 3, label: 'Approval of write', detail: undefined },
  ...{ start: 0, firstContentAt: undefined, end: undefined, tone: 'wait' },
  ...{ offset: 1, endOffset: undefined, child: undefined },
};

async function rowOf(changes: Partial<Bar>) {
  const page = await openDomPage('http://page.test/');
  const { WaterfallRow } = await import('./waterfall-view.tsx');
  const [window, nothing] = [{ from: 0, to: 100 }, () => {}];
  await page.render(
    <WaterfallRow
      {...{ window, bar: { ...bar, ...changes }, positionOf: (time) => time, end: 3 }}
      {...{ isFuture: false, isChosen: false, onChoose: nothing, onZoom: nothing }}
    />,
  );
  return page.find('.bar-label').textContent;
}

test('an open approval shows that it waits, without a duration', async () => {
  const text = await rowOf({});
  expect(text).toContain('waiting');
  expect(text).not.toContain('3 ms');
});

test('an answered approval shows its duration', async () => {
  expect(await rowOf({ end: 3 })).toContain('3 ms');
});

test('a label is inside a wide bar, and next to a narrow one on the wider side', () => {
  expect(labelPosition(10, 90)).toEqual({ left: '10%' });
  expect(labelPosition(10, 12)).toEqual({ left: '12%' });
  expect(labelPosition(90, 100)).toEqual({ right: '10%' });
  expect(labelPosition(-500, 900)).toEqual({ left: '0%' });
});

test('a label has at least a third of the row and never crosses a narrower bar', () => {
  const ends = fc.tuple(fc.nat(100), fc.nat(100)).map((pair) => pair.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(ends, ([from = 0, to = 0]) => {
      fc.pre(from < to);
      const { left, right } = labelPosition(from, to);
      const isIn = left === `${from}%`;
      const room = isIn ? to - from : right === undefined ? 100 - to : from;
      expect(room).toBeGreaterThanOrEqual(33);
      expect(isIn || left === `${to}%` || right === `${100 - from}%`).toBe(true);
    }),
  );
});
