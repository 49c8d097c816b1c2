import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';
import type { Bar } from './bar.ts';

const bar: Bar = {
  ...{ key: 'a', kind: 'approval', depth: 3, label: 'Approval of write', detail: undefined },
  ...{ start: 0, first: undefined, end: undefined, tone: 'wait' },
  ...{ offset: 1, endOffset: undefined, child: undefined },
};

async function rowOf(changes: Partial<Bar>) {
  const page = await openDomPage('http://page.test/');
  const { WaterfallRow } = await import('./waterfall-row.tsx');
  const [window, nothing] = [{ from: 0, to: 100 }, () => {}];
  await page.render(
    <WaterfallRow
      {...{ window, bar: { ...bar, ...changes }, positionOf: (time) => time, end: 3 }}
      {...{ isFuture: false, isChosen: false, onChoose: nothing, onZoom: nothing }}
    />,
  );
  return page.find('.bar-label').textContent;
}

test('a question that is not answered says that it waits, not for how long', async () => {
  const text = await rowOf({});
  expect(text).toContain('still waits');
  expect(text).not.toContain('3 ms');
});

test('one that is says how long it did', async () => {
  expect(await rowOf({ end: 3 })).toContain('3 ms');
});
